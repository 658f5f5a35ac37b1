package conflict

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deletionvector"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/logstore/storetest"
	"github.com/deltaskip/deltaskip/rows"
)

// vectorProtocol is that of a table that may have deletion vectors.
const vectorProtocol = `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors","invariants","appendOnly"]}}`

// A rowTable is a table with real data files of one column, id, whose values by row are what a test says. Transactions read
// version 1; commits are versions from 2 on.
type rowTable struct {
	t     testing.TB
	store logstore.Store
	next  int64 // version
}

func newRowTable(t testing.TB) *rowTable { return &rowTable{t: t, store: &storetest.Mem{}, next: 2} }

// put writes a file of the table.
func (r *rowTable) put(name string, data []byte) {
	r.t.Helper()
	if err := r.store.PutIfAbsent(context.Background(), name, data); err != nil {
		r.t.Fatal(err)
	}
}

// file writes a data file with the given ids and returns its add.
func (r *rowTable) file(name string, ids ...int64) *action.Add {
	r.t.Helper()
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(ids, nil)
	column := b.NewArray()
	defer column.Release()
	s := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	record := array.NewRecordBatch(s, []arrow.Array{column}, int64(len(ids)))
	defer record.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(s, &out, nil, pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.Write(record)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.put(name, out.Bytes())
	return &action.Add{
		Path: name, PartitionValues: map[string]*string{}, Size: int64(out.Len()), DataChange: true,
		Stats: fmt.Sprintf(`{"numRecords":%d,"minValues":{"id":%d},"maxValues":{"id":%d},"nullCount":{"id":0},"tightBounds":true}`,
			len(ids), slices.Min(ids), slices.Max(ids)),
	}
}

// without returns a with a deletion vector of the given rows.
func (r *rowTable) without(a *action.Add, positions ...int64) *action.Add {
	r.t.Helper()
	files, descriptors, err := deletionvector.Pack([]*deletionvector.Vector{deletionvector.Of(positions...)}, deletionvector.PackOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.put(files[0].Path, files[0].Data)
	marked := *a
	marked.DeletionVector = &descriptors[0]
	marked.Stats = strings.Replace(a.Stats, `"tightBounds":true`, `"tightBounds":false`, 1)
	return &marked
}

// gone is the remove of a file as an add has it.
func gone(a *action.Add) *action.Remove {
	return &action.Remove{
		Path: a.Path, DataChange: a.DataChange, PartitionValues: a.PartitionValues, ExtendedFileMetadata: ptr(true), Size: &a.Size,
		DeletionVector: a.DeletionVector, BaseRowID: a.BaseRowID, DefaultRowCommitVersion: a.DefaultRowCommitVersion,
	}
}

// still returns the actions with dataChange false.
func still(actions ...action.Action) (list []action.Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case *action.Add:
			b := *a
			b.DataChange = false
			list = append(list, &b)
		case *action.Remove:
			b := *a
			b.DataChange = false
			list = append(list, &b)
		}
	}
	return list
}

// newFile is the add of a data file that need not be there.
func newFile(name string) *action.Add {
	return &action.Add{Path: name, PartitionValues: map[string]*string{}, Size: 1, DataChange: true}
}

func infoOf(operation string) *action.CommitInfo {
	info := &action.CommitInfo{}
	info.SetString("operation", operation)
	return info
}

// commit writes the next version.
func (r *rowTable) commit(info *action.CommitInfo, actions ...action.Action) {
	r.t.Helper()
	r.put(deltalog.CommitName(r.next), []byte(text(append([]action.Action{info}, actions...))+"\n"))
	r.next++
}

// txn is a transaction that read version 1 by the given predicates, and the files that it removes.
func (r *rowTable) txn(operation string, reads []string, actions ...action.Action) *Transaction {
	r.t.Helper()
	txn := race{protocol: vectorProtocol, table: table(propDeletionVectors + "=true")}.transaction(r.t)
	txn.CommitInfo, txn.Actions = infoOf(operation), actions
	for _, sql := range reads {
		txn.Reads = append(txn.Reads, Read{SQL: sql})
	}
	for _, a := range actions {
		if rm, ok := a.(*action.Remove); ok {
			txn.ReadFiles = append(txn.ReadFiles, ReadFile{Path: rm.Path})
		}
	}
	return txn
}

// check checks a transaction and wants an answer.
func (r *rowTable) check(o Options, txn *Transaction) Result {
	r.t.Helper()
	result, err := checker(r.t, deltalog.Open(r.store, deltalog.Options{}), o).Check(context.Background(), txn, Newest)
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// wantConflict checks kind, reason and path of a conflict.
func wantConflict(t testing.TB, r Result, kind Kind, reason Reason, path string) *Conflict {
	t.Helper()
	if r.Outcome != Conflicting {
		t.Fatalf("%s, want %s because of %s", r.Outcome, kind, reason)
	}
	if f := r.Conflict; f.Kind != kind || f.Reason != reason || f.Path != path {
		t.Fatalf("%s because of %s at %s, want %s because of %s at %s: %v", f.Kind, f.Reason, f.Path, kind, reason, path, f)
	}
	return r.Conflict
}

func wantClear(t testing.TB, r Result) {
	t.Helper()
	if r.Outcome != Clear {
		t.Fatalf("%s, want clear: %v", r.Outcome, r.Conflict)
	}
}

// vectorAfter returns the rows that a file lacks by a result's actions.
func (r *rowTable) vectorAfter(result Result, path string) string {
	r.t.Helper()
	for _, a := range result.Actions {
		a, ok := a.(*action.Add)
		if !ok || a.Path != path {
			continue
		}
		store := &storetest.Mem{}
		for _, f := range result.Files {
			if err := store.PutIfAbsent(context.Background(), f.Path, f.Data); err != nil {
				r.t.Fatal(err)
			}
		}
		v, err := rows.Source{Table: store}.Vector(context.Background(), a.DeletionVector, -1)
		if err != nil {
			v, err = rows.Source{Table: r.store}.Vector(context.Background(), a.DeletionVector, -1)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		return v.String()
	}
	r.t.Fatalf("%s is not added: %s", path, text(result.Actions))
	return ""
}

// positions says rows as a vector of them does.
func positions(list ...int64) string { return deletionvector.Of(list...).String() }

// removedAs returns the id of the vector that a result removes a file with.
func removedAs(t testing.TB, result Result, path string) string {
	t.Helper()
	for _, a := range result.Actions {
		if a, ok := a.(*action.Remove); ok && a.Path == path {
			return a.DeletionVector.UniqueID()
		}
	}
	t.Fatalf("%s is not removed: %s", path, text(result.Actions))
	return ""
}

// apply writes a result as the next version.
func (r *rowTable) apply(result Result) {
	r.t.Helper()
	for _, f := range result.Files {
		r.put(f.Path, f.Data)
	}
	r.put(deltalog.CommitName(r.next), []byte(text(result.Actions)+"\n"))
	r.next++
}
