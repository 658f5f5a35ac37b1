package conflict

import (
	"time"

	"github.com/deltaskip/deltaskip/action"
)

// A winner is a commit that got in before the loser. It is immutable and shared.
type winner struct {
	version    int64
	modified   time.Time // of the commit file
	commitInfo *action.CommitInfo
	protocol   *action.Protocol
	metadata   []*action.Metadata // more than one breaks the protocol
	txns       []*action.Txn
	domains    []*action.DomainMetadata
	removes    []*action.Remove
	adds       int  // number of add actions
	rearranges bool // every add and remove says dataChange false
	load       func() ([]*action.Add, error)
}

// newWinner sorts the actions of a commit.
func newWinner(version int64, modified time.Time, actions []action.Action) *winner {
	w := &winner{version: version, modified: modified, rearranges: true}
	var adds []*action.Add
	for _, a := range actions {
		switch a := a.(type) {
		case *action.CommitInfo:
			if w.commitInfo == nil {
				w.commitInfo = a
			}
		case *action.Protocol:
			w.protocol = a
		case *action.Metadata:
			w.metadata = append(w.metadata, a)
		case *action.Txn:
			w.txns = append(w.txns, a)
		case *action.DomainMetadata:
			w.domains = append(w.domains, a)
		case *action.Remove:
			w.removes = append(w.removes, a)
			w.rearranges = w.rearranges && !a.DataChange
		case *action.Add:
			adds = append(adds, a)
			w.rearranges = w.rearranges && !a.DataChange
		}
	}
	w.adds = len(adds)
	w.load = func() ([]*action.Add, error) { return adds, nil }
	return w
}

// info describes the winner for people.
func (w *winner) info() WinnerInfo {
	i := WinnerInfo{Version: w.version, Timestamp: w.modified}
	if c := w.commitInfo; c != nil {
		i.Operation, i.Engine, i.TxnID = c.Operation(), c.EngineInfo(), c.TxnID()
		i.BlindAppend = w.blind()
		if t := c.Timestamp(); t != nil {
			i.Timestamp = time.UnixMilli(*t)
		}
	}
	return i
}

func (w *winner) operation() string {
	if w.commitInfo == nil {
		return ""
	}
	return w.commitInfo.Operation()
}

func (w *winner) tag(name string) string {
	if w.commitInfo == nil {
		return ""
	}
	return w.commitInfo.Tags()[name]
}

// blind reports whether the winner appended without reading. A commit that doesn't say so is not blind, nor is one that
// says so and removes files.
func (w *winner) blind() bool {
	if w.commitInfo == nil || len(w.removes) > 0 {
		return false
	}
	flag := w.commitInfo.IsBlindAppend()
	return flag != nil && *flag
}

// timestamp is the commit's own time in milliseconds, or that of its file where it has none.
func (w *winner) timestamp() int64 {
	if w.commitInfo != nil {
		if t := w.commitInfo.InCommitTimestamp(); t != nil {
			return *t
		}
	}
	return w.modified.UnixMilli()
}
