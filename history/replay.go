package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/internal/ordered"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

func (o Options) withDefaults() Options {
	if o.Table == "" {
		o.Table = "(unnamed)"
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Progress == nil {
		o.Progress = func() {}
	}
	return o
}

// A listing is the commits that options ask for, and the state before them.
type listing struct {
	base  state
	files []deltalog.CommitFile // after base
}

// A state is what a table was at a version, files apart.
type state struct {
	version  int64
	protocol *action.Protocol
	metadata *action.Metadata
	domains  map[string]*action.DomainMetadata
}

// list finds the commits, from the oldest version that can be built.
func list(ctx context.Context, log *deltalog.Log, o Options) (*listing, error) {
	base, err := stateAt(ctx, log, max(o.From-1, 0))
	var none *deltalog.VersionError
	if errors.As(err, &none) && none.Version < none.Oldest { // cleaned up
		base, err = stateAt(ctx, log, none.Oldest)
	}
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	files, err := log.Since(ctx, base.version)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if o.To != nil {
		files = slices.DeleteFunc(files, func(f deltalog.CommitFile) bool { return f.Version > *o.To })
	}
	return &listing{*base, files}, nil
}

func stateAt(ctx context.Context, log *deltalog.Log, version int64) (*state, error) {
	s, err := log.Snapshot(ctx, deltalog.SnapshotOptions{Version: &version})
	if err != nil {
		return nil, err
	}
	return &state{s.Version, s.Protocol, s.Metadata, s.Domains}, s.Close()
}

// find searches the newest commits first. The one that made the base counts, where it is still there.
func (l *listing) find(ctx context.Context, log *deltalog.Log, txnID string, o Options) (*Found, error) {
	versions := []int64{l.base.version}
	for _, f := range l.files {
		versions = append(versions, f.Version)
	}
	if l.base.version < o.From {
		versions = versions[1:]
	}
	found := &Found{From: max(o.From, l.base.version), To: l.base.version + int64(len(l.files))}
	slices.Reverse(versions)
	read := func(ctx context.Context, version int64) (*deltalog.Commit, error) {
		c, err := log.Commit(ctx, version)
		if version == l.base.version && errors.Is(err, logstore.ErrNotFound) {
			return nil, nil
		}
		return c, err
	}
	for c, err := range ordered.Map(ctx, o.Workers, ordered.Items(versions), read, nil) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("history: %w", err)
		case c == nil:
			found.From++
			continue
		}
		o.Progress()
		if conflict.Holds(c, txnID) {
			info := conflict.InfoOf(c)
			found.Commit = &info
			return found, nil
		}
	}
	return found, nil
}

// A replayer judges races one after the other.
type replayer struct {
	log     *deltalog.Log
	o       Options
	commits []deltalog.CommitFile
	states  []state // by version: the base, and whatever changed it
	cache   *conflict.WinnerCache
	schema  *schema.Table // of metadata
	of      *action.Metadata
}

func (r *replayer) run(ctx context.Context, base state) (*Report, error) {
	r.states = []state{base}
	report := &Report{From: base.version + 1, To: base.version}
	groups := map[[2]string]*Group{}
	read := func(ctx context.Context, f deltalog.CommitFile) (*deltalog.Commit, error) {
		return r.log.Commit(ctx, f.Version)
	}
	for c, err := range ordered.Map(ctx, r.o.Workers, ordered.Items(r.commits), read, nil) {
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		r.o.Progress()
		r.advance(c)
		report.To = c.Version
		info := conflict.InfoOf(c)
		report.Infos = append(report.Infos, info)
		key := [2]string{info.Operation, info.Engine}
		if groups[key] == nil {
			groups[key] = &Group{Operation: info.Operation, Engine: info.Engine}
		}
		groups[key].Commits++
		switch version, told := readVersion(c); {
		case !told:
			report.Untold++
		case version < c.Version-1:
			report.Races = append(report.Races, &Race{Commit: info, ReadVersion: version})
		}
	}
	for _, race := range report.Races {
		if err := r.judge(ctx, race); err != nil {
			return nil, err
		}
		r.o.Progress()
		groups[[2]string{race.Commit.Operation, race.Commit.Engine}].add(race)
	}
	for _, g := range groups {
		report.Groups = append(report.Groups, *g)
	}
	slices.SortFunc(report.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Races, a.Races), cmp.Compare(b.Commits, a.Commits),
			strings.Compare(a.Operation, b.Operation), strings.Compare(a.Engine, b.Engine))
	})
	return report, nil
}

// readVersion returns which version a commit read, if it tells.
func readVersion(c *deltalog.Commit) (version int64, told bool) {
	if c.Info == nil {
		return 0, false
	}
	v := c.Info.ReadVersion()
	if v == nil || *v < 0 || *v >= c.Version {
		return 0, false
	}
	return *v, true
}

// advance notes what a commit changes.
func (r *replayer) advance(c *deltalog.Commit) {
	if c.Protocol == nil && c.Metadata == nil && len(c.Domains) == 0 {
		return
	}
	s := r.states[len(r.states)-1]
	s.version = c.Version
	if c.Protocol != nil {
		s.protocol = c.Protocol
	}
	if c.Metadata != nil {
		s.metadata = c.Metadata
	}
	if len(c.Domains) > 0 {
		s.domains = maps.Clone(s.domains)
		for _, d := range c.Domains {
			if s.domains[d.Domain] = d; d.Removed {
				delete(s.domains, d.Domain)
			}
		}
	}
	r.states = append(r.states, s)
}

// at returns the table's state at a version, as a snapshot without files. It is nil where the log no longer tells.
func (r *replayer) at(ctx context.Context, version int64) (*deltalog.Snapshot, error) {
	i, found := slices.BinarySearchFunc(r.states, version, func(s state, v int64) int { return cmp.Compare(s.version, v) })
	if !found {
		i--
	}
	var s *state
	if i >= 0 {
		s = &r.states[i]
	} else {
		var err error
		var gone *deltalog.VersionError
		if s, err = stateAt(ctx, r.log, version); errors.As(err, &gone) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
	}
	return &deltalog.Snapshot{Version: version, Protocol: s.protocol, Metadata: s.metadata, Domains: s.domains}, nil
}

// judge asks every question of a race. An error is one of reading the log; what is wrong with the commit is in the verdicts.
func (r *replayer) judge(ctx context.Context, race *Race) error {
	read, err := r.at(ctx, race.ReadVersion)
	if err != nil {
		return err
	}
	if read == nil {
		race.fail(fmt.Errorf("history: the log no longer has version %d, which it read", race.ReadVersion))
		return nil
	}
	race.Isolation = conflict.TableIsolation(read.Metadata)
	c, err := r.log.Commit(ctx, race.Commit.Version)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	txn, err := r.transaction(c, read, race)
	if err != nil {
		race.fail(err)
		return nil
	}
	return r.ask(ctx, race, txn)
}

// transaction makes of a commit the transaction that it was before it met the winners.
func (r *replayer) transaction(c *deltalog.Commit, read *deltalog.Snapshot, race *Race) (*conflict.Transaction, error) {
	if m := read.Metadata; m != r.of {
		table, err := schema.Parse(m.SchemaString, m.PartitionColumns, m.Configuration)
		if err != nil {
			return nil, err
		}
		r.schema, r.of = table, m
	}
	env := predicate.Env{Zone: r.o.Zone, Now: race.Commit.Timestamp}
	reads, err := readsOf(c, r.schema, env)
	if err != nil {
		return nil, err
	}
	race.Reads = reads
	txn, err := transaction(c, reads, env)
	if err != nil {
		return nil, err
	}
	return txn, txn.ReadFrom(read)
}

// fail says why there is no verdict.
func (r *Race) fail(err error) {
	for i := range r.Verdicts {
		r.Verdicts[i].Err = err
	}
}

// ask fills in the verdicts.
func (r *replayer) ask(ctx context.Context, race *Race, txn *conflict.Transaction) error {
	log := r.log
	if race.ReadVersion >= r.states[0].version { // the winners are among the listed commits
		log = deltalog.Open(window{r.log.Store(), r.between(race.ReadVersion, race.Commit.Version)}, deltalog.Options{Workers: r.o.Workers})
	}
	for i, q := range Questions {
		checker, err := conflict.NewChecker(log, conflict.Options{
			Mode: q.Mode, Table: r.o.Table, Cache: r.cache, Workers: r.o.Workers, PartitionZone: r.o.Zone,
		})
		if err != nil {
			return err
		}
		asked := *txn
		asked.Isolation = &conflict.Isolation{Level: q.Level, Source: "what if"}
		result, err := checker.Check(ctx, &asked, race.Commit.Version-1)
		if ctx.Err() != nil {
			return fmt.Errorf("history: %w", err)
		}
		race.Verdicts[i] = race.verdict(result, err)
	}
	return nil
}

func (r *Race) verdict(result conflict.Result, err error) Verdict {
	v := Verdict{Outcome: result.Outcome, Conflict: result.Conflict, Err: err}
	c := v.Conflict
	if c != nil && r.Reads.Note != "" && (c.Kind == conflict.ConcurrentAppend || c.Kind == conflict.ConcurrentDeleteRead) {
		v.Outcome = conflict.Undetermined
	}
	return v
}

// between returns the commits between two versions, without these.
func (r *replayer) between(after, before int64) []deltalog.CommitFile {
	at := func(version int64) int {
		i, _ := slices.BinarySearchFunc(r.commits, version, func(f deltalog.CommitFile, v int64) int { return cmp.Compare(f.Version, v) })
		return i
	}
	return r.commits[at(after+1):at(before)]
}

// A window is a store that lists some commits and nothing else, so that judging one race after the other doesn't list the whole
// log for each.
type window struct {
	logstore.Store
	commits []deltalog.CommitFile
}

func (w window) List(_ context.Context, _, after string) iter.Seq2[logstore.Entry, error] {
	return func(yield func(logstore.Entry, error) bool) {
		for _, f := range w.commits {
			if f.Entry.Name > after && !yield(f.Entry, nil) {
				return
			}
		}
	}
}
