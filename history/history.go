package history

import (
	"context"
	"time"

	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
)

// Options say what is replayed and how. The zero Options replays all that can be read.
type Options struct {
	Table string // names the table in messages
	From  int64  // the first version that counts
	To    *int64 // the last; nil means the newest
	// Zone is that of the sessions that wrote predicates, and of partition values without one; nil means UTC.
	Zone     *time.Location
	Workers  int    // commits read ahead, and batches evaluated at once; 0 means GOMAXPROCS
	Progress func() // is called for each commit read and each race judged; nil means nobody is
}

// A Question is a mode and an isolation level to judge races at.
type Question struct {
	Mode  conflict.Mode
	Level conflict.Level
}

// Questions are what is asked of every race. A table cannot be at another level.
var Questions = [...]Question{
	{conflict.Off, conflict.Serializable},
	{conflict.Off, conflict.WriteSerializable},
	{conflict.Stats, conflict.Serializable},
	{conflict.Stats, conflict.WriteSerializable},
}

// A Verdict is the answer to a question.
type Verdict struct {
	Outcome conflict.Outcome
	// Conflict is what stood in the way. Where the outcome is Undetermined that may be due to reads that are not known.
	Conflict *conflict.Conflict
	Err      error // why there is no answer, if that is why
}

// A Race is a commit that others got in before: they committed between the version that it read and its own.
type Race struct {
	Commit      conflict.WinnerInfo
	ReadVersion int64
	Isolation   conflict.Isolation // that the table asked for at ReadVersion
	Reads       Reads
	Verdicts    [len(Questions)]Verdict // in the order of Questions
}

// Winners is how many commits got in first.
func (r *Race) Winners() int64 { return r.Commit.Version - 1 - r.ReadVersion }

// At returns the verdict of a mode at the table's own level.
func (r *Race) At(m conflict.Mode) Verdict {
	for i, q := range Questions {
		if q.Mode == m && q.Level == r.Isolation.Level {
			return r.Verdicts[i]
		}
	}
	return Verdict{}
}

// A Report is what replaying told.
type Report struct {
	From, To int64 // the commits that were looked at; To < From for none
	// Untold is how many of them don't say which version they read: whether they raced is not known.
	Untold int
	Infos  []conflict.WinnerInfo // of the commits, by version
	Races  []*Race               // by version
	Groups []Group               // by operation and engine, the most races first
}

// Commits is how many commits were looked at.
func (r *Report) Commits() int { return int(r.To - r.From + 1) }

// A Group is the commits of one operation and engine.
type Group struct {
	Operation, Engine string
	Commits, Races    int
	Conflicts         [len(Questions)]int // races with that outcome, by question
	Undetermined      [len(Questions)]int // likewise
	// At the table's own level: the races that mode Off calls conflicts, and those of them that statistics clear.
	Conflicting, Avoidable int
}

func (g *Group) add(r *Race) {
	g.Races++
	for i, v := range r.Verdicts {
		switch v.Outcome {
		case conflict.Conflicting:
			g.Conflicts[i]++
		case conflict.Undetermined:
			g.Undetermined[i]++
		}
	}
	if r.At(conflict.Off).Outcome == conflict.Conflicting {
		g.Conflicting++
		if r.At(conflict.Stats).Outcome == conflict.Clear {
			g.Avoidable++
		}
	}
}

// Total adds up the groups.
func (r *Report) Total() (total Group) {
	for _, g := range r.Groups {
		total.Commits += g.Commits
		total.Races += g.Races
		total.Conflicting += g.Conflicting
		total.Avoidable += g.Avoidable
		for i := range Questions {
			total.Conflicts[i] += g.Conflicts[i]
			total.Undetermined[i] += g.Undetermined[i]
		}
	}
	return total
}

// Replay judges the commits of a table that raced.
func Replay(ctx context.Context, log *deltalog.Log, o Options) (*Report, error) {
	commits, err := list(ctx, log, o)
	if err != nil {
		return nil, err
	}
	r := &replayer{log: log, o: o.withDefaults(), commits: commits.files, cache: conflict.NewWinnerCache(0)}
	defer r.cache.Close()
	return r.run(ctx, commits.base)
}

// A Found is where a transaction is.
type Found struct {
	From, To int64                // the versions that count; To < From for none
	Commit   *conflict.WinnerInfo // nil if it is in none of them
}

// Find looks for a transaction, by the id in its commitInfo, among the commits of a table. One that isn't there may still come:
// a writer that doesn't know what became of its commit may have it under way.
func Find(ctx context.Context, log *deltalog.Log, txnID string, o Options) (*Found, error) {
	commits, err := list(ctx, log, o)
	if err != nil {
		return nil, err
	}
	return commits.find(ctx, log, txnID, o.withDefaults())
}
