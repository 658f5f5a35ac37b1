package conflict

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/schema"
)

// A winner is a commit that got in before the loser, with what has been decoded of its added files. It is shared, and
// freed with its last reference.
type winner struct {
	*deltalog.Commit
	grown func(bytes int64) // told of decoded batches; nil where nobody counts

	mu      sync.Mutex
	refs    int
	decoded map[layoutKey]*decoded
}

// decoded are a winner's added files, as batches of one layout.
type decoded struct {
	mu      sync.Mutex // held while decoding
	batches []*colstats.Batch
}

// A layoutKey tells apart what files can be decoded to: columns are named by their paths in a table, which the key keeps
// alive, and checkers that share a winner may read statistics by different rules.
type layoutKey struct {
	table         *schema.Table
	demands       string
	zone          *time.Location
	maxStatsBytes int
}

func keyOf(layout *colstats.Layout, o colstats.Options) layoutKey {
	var b strings.Builder
	for _, d := range layout.Demands {
		fmt.Fprintf(&b, "%q %t %t\n", d.Column.Path, d.Bounds, d.Nulls)
	}
	return layoutKey{layout.Table, b.String(), o.Zone, o.MaxStatsBytes}
}

func newWinner(c *deltalog.Commit) *winner {
	return &winner{Commit: c, refs: 1, decoded: map[layoutKey]*decoded{}}
}

func (w *winner) retain() {
	w.mu.Lock()
	w.refs++
	w.mu.Unlock()
}

func (w *winner) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refs--; w.refs > 0 {
		return
	}
	for _, d := range w.decoded {
		for _, b := range d.batches {
			b.Release()
		}
	}
	w.decoded = nil
}

// batches returns the added files in order, decoded for a question. They live as long as the winner.
func (w *winner) batches(ctx context.Context, q *question, o colstats.Options) ([]*colstats.Batch, error) {
	w.mu.Lock()
	d := w.decoded[q.key]
	if d == nil {
		d = &decoded{}
		w.decoded[q.key] = d
	}
	w.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.batches == nil { // an earlier failure is no answer: it may have been somebody's patience
		batches, err := w.decode(ctx, q.Layout(), o)
		if err != nil {
			return nil, err
		}
		d.batches = batches
	}
	return d.batches, nil
}

// hasDecoded reports whether batches need only be looked up.
func (w *winner) hasDecoded(q *question) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.decoded[q.key] != nil
}

func (w *winner) decode(ctx context.Context, layout *colstats.Layout, o colstats.Options) (batches []*colstats.Batch, err error) {
	defer func() {
		if err != nil {
			for _, b := range batches {
				b.Release()
			}
		}
	}()
	defer recoverTo(&err)
	o.NaN = w.nanOrder()
	for b, err := range w.Batches(ctx, layout, o) {
		if err != nil {
			return batches, err
		}
		b.Retain()
		batches = append(batches, b)
	}
	if w.grown != nil {
		w.grown(decodedBytes(layout, w.NumAdds()))
	}
	return batches, nil
}

// nanOrder says whether the statistics that this commit wrote let NaN count for maxima. Open-source Spark's do; commits that
// carry over other writers' files don't tell whose statistics they carry.
func (w *winner) nanOrder() colstats.NaNOrder {
	if w.Info == nil {
		return colstats.NaNUnknown
	}
	engine := w.Info.EngineInfo()
	if !strings.HasPrefix(engine, "Apache-Spark/") || !strings.Contains(engine, " Delta-Lake/") {
		return colstats.NaNUnknown
	}
	operation := strings.ToUpper(w.operation())
	for _, carrying := range []string{"RESTORE", "CLONE", "CONVERT"} {
		if strings.Contains(operation, carrying) {
			return colstats.NaNUnknown
		}
	}
	return colstats.NaNOrderedIfOwn
}

// decodedBytes estimates what a layout's facts of so many files take: two bounds a column, of 16 bytes at most or the
// beginning of a string.
func decodedBytes(layout *colstats.Layout, files int) int64 {
	return int64(files) * int64(16+2*16*len(layout.Demands))
}

// info describes the winner for people.
func (w *winner) info() WinnerInfo { return InfoOf(w.Commit) }

// InfoOf describes a commit as its commitInfo does.
func InfoOf(c *deltalog.Commit) WinnerInfo {
	i := WinnerInfo{Version: c.Version, Timestamp: c.Entry.ModTime}
	if info := c.Info; info != nil {
		i.Operation, i.Engine, i.TxnID = info.Operation(), info.EngineInfo(), info.TxnID()
		i.BlindAppend = blind(c)
		if t := info.Timestamp(); t != nil {
			i.Timestamp = time.UnixMilli(*t)
		}
	}
	return i
}

func (w *winner) operation() string {
	if w.Info == nil {
		return ""
	}
	return w.Info.Operation()
}

func (w *winner) tag(name string) string {
	if w.Info == nil {
		return ""
	}
	return w.Info.Tags()[name]
}

func (w *winner) blind() bool { return blind(w.Commit) }

// blind reports whether a commit appended without reading. One that doesn't say so is not blind, nor is one that says so and
// removes files.
func blind(c *deltalog.Commit) bool {
	if c.Info == nil || len(c.Removes) > 0 {
		return false
	}
	flag := c.Info.IsBlindAppend()
	return flag != nil && *flag
}

// membersKey is where the commitInfo of a group's commit lists the transaction ids of its members.
const membersKey = "deltaskip.members"

// Holds reports whether a commit is that of a transaction: its own, or that of the group which it was committed with.
func Holds(c *deltalog.Commit, txnID string) bool {
	_, ok := heldBy(c, []string{txnID})
	return ok
}

// heldBy returns which of some transactions a commit is that of, if it is.
func heldBy(c *deltalog.Commit, ids []string) (id string, ok bool) {
	if c.Info == nil || len(ids) == 0 {
		return "", false
	}
	if id := c.Info.TxnID(); id != "" && slices.Contains(ids, id) {
		return id, true
	}
	var members []string
	if raw := c.Info.Get(membersKey); raw != nil && json.Unmarshal(raw, &members) == nil {
		for _, id := range members {
			if slices.Contains(ids, id) {
				return id, true
			}
		}
	}
	return "", false
}

// A landedError ends the check of a transaction that turns out to have been committed already.
type landedError struct {
	version int64
	id      string
}

func (e *landedError) Error() string {
	return fmt.Sprintf("conflict: transaction %s is committed as version %d", e.id, e.version)
}
