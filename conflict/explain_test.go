package conflict

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	file := func(path string, low, high int) string {
		return add(path, fmt.Sprintf(`"stats":"{\"numRecords\":9,\"minValues\":{\"id\":%d},\"maxValues\":{\"id\":%d},\"nullCount\":{\"id\":0}}"`, low, high))
	}
	many := []string{`{"commitInfo":{"operation":"WRITE"}}`}
	for i := range 12 {
		many = append(many, file(fmt.Sprintf("m%02d", i), i, 10+i))
	}
	r := race{
		loser: []string{remove("mine"), add("new")},
		reads: func(txn *Transaction) {
			txn.Reads = []Read{{SQL: "id < 50 AND rand() < 0.5"}, {SQL: "id = 700"}}
			txn.ReadFiles = []ReadFile{{Path: "mine"}, {Path: "read"}}
		},
		winners: [][]string{
			{file("a", 100, 199), file("b", 0, 99), file("c", 650, 750), add("bare")},
			{remove("mine"), remove("read"), remove("other")},
			{`{"commitInfo":{"operation":"OPTIMIZE"}}`, remove("x", `"dataChange":false`), add("y", `"dataChange":false`)},
			many,
			{`{"metaData":` + strings.TrimPrefix(table("delta.appendOnly=true"), `{"metaData":`)},
			{file("never", 0, 1)},
		},
	}
	c := checker(t, logOf(t, 2, r.winners...), Options{Mode: Off})
	e, err := c.Explain(context.Background(), r.transaction(t), Newest)
	if err != nil {
		t.Fatal(err)
	}
	if e.Isolation.Level != Serializable || len(e.Unusable) != 1 || e.Unusable[0].Read != 0 || !strings.Contains(e.Unusable[0].Conjunct, "rand") {
		t.Errorf("%+v", e)
	}
	if len(e.Winners) != 5 {
		t.Fatalf("%d winners, want five: the last one stands behind changed metadata", len(e.Winners))
	}
	w := e.Winners[0]
	if w.Reached() != 3 || w.SkippedByStats != 1 || w.SkippedByPartition != 0 || w.Rearranged {
		t.Errorf("%+v", w)
	}
	for i, want := range []ReachedFile{
		{"b", "", 0, "id < 50 AND rand() < 0.5", RangesOverlap, "", "id in [0, 99]"},
		{"c", "", 1, "id = 700", RangesOverlap, "", "id in [650, 750]"},
		{"bare", "", 0, "id < 50 AND rand() < 0.5", StatisticsMissing, "", "id without bounds"},
	} {
		if w.Files[i] != want {
			t.Errorf("file %d: %+v, want %+v", i, w.Files[i], want)
		}
	}
	if w := e.Winners[1]; w.RemovedRead != 2 || w.RemovedTwice != 1 || w.Removes != 3 || w.Reached() != 0 {
		t.Errorf("%+v", w)
	}
	if w := e.Winners[2]; !w.Rearranged {
		t.Errorf("%+v", w)
	}
	if w := e.Winners[3]; w.Reached() != 12 || len(w.Files) != maxReached {
		t.Errorf("%+v", w)
	}
	if w := e.Winners[4]; !errors.Is(w.Err, MetadataChanged) {
		t.Errorf("%+v", w)
	}
}

// TestExplainUnboundReads: a read that cannot be bound is answered by partitions alone, and the conjunct is named.
func TestExplainUnboundReads(t *testing.T) {
	r := race{
		table: partitionedTable(),
		loser: []string{remove("mine"), add("new")},
		reads: func(txn *Transaction) { txn.Reads = []Read{{SQL: "p = 1 AND nope < 5"}} },
		winners: [][]string{{
			strings.Replace(add("in"), `"partitionValues":{}`, `"partitionValues":{"p":"1"}`, 1),
			strings.Replace(add("out"), `"partitionValues":{}`, `"partitionValues":{"p":"2"}`, 1),
		}},
	}
	c := checker(t, logOf(t, 2, r.winners...), Options{Mode: Stats})
	e, err := c.Explain(context.Background(), r.transaction(t), Newest)
	if err != nil {
		t.Fatal(err)
	}
	w := e.Winners[0]
	if w.Failure == nil || w.Reached() != 1 || w.SkippedByPartition != 1 || w.Files[0].Path != "in" || w.Files[0].Reason != SkippingFailed || w.Files[0].Partition != "[p=1]" {
		t.Errorf("%+v", w)
	}
	if len(e.Unusable) != 1 || e.Unusable[0].Conjunct != "nope < 5" {
		t.Errorf("%+v", e.Unusable)
	}
}

func TestExplainWhoseFilesDontCount(t *testing.T) {
	blind := []string{`{"commitInfo":{"isBlindAppend":true}}`, add("a")}
	for _, tt := range []struct {
		name string
		txn  race
		says string
	}{
		{"blind loser", race{loser: []string{add("new")}}, "blind append"},
		{"no data changed", race{loser: []string{remove("f", `"dataChange":false`), add("new", `"dataChange":false`)}}, "SnapshotIsolation"},
		{"blind winner", race{table: table("delta.isolationLevel=WriteSerializable"), loser: []string{remove("f")}, reads: func(txn *Transaction) { txn.ReadWholeTable = true }}, "WriteSerializable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := checker(t, logOf(t, 2, blind), Options{})
			e, err := c.Explain(context.Background(), tt.txn.transaction(t), Newest)
			if err != nil {
				t.Fatal(err)
			}
			if w := e.Winners[0]; !strings.Contains(w.Exempt, tt.says) || w.Reached() != 0 {
				t.Errorf("%+v", w)
			}
		})
	}
}
