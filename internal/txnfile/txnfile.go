// Package txnfile reads transactions from the JSON files that `deltaskip check --txn` takes:
//
//	{"readVersion": 1, "readPredicates": ["id < 50"], "readFiles": ["part-0.parquet"], "readWholeTable": false,
//	 "readAppIds": [], "readDomains": [], "isBlindAppend": false, "isolationLevel": "Serializable",
//	 "operation": "DELETE", "commitInfo": {…}, "actions": [{"remove": {…}}, {"add": {…}}]}
//
// Only readVersion is required. Members that are not listed here are for people and are passed over.
package txnfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
)

// ErrFormat matches every error about the file's contents.
var ErrFormat = errors.New("not a transaction")

type file struct {
	ReadVersion    *int64            `json:"readVersion"`
	ReadWholeTable bool              `json:"readWholeTable"`
	ReadPredicates []string          `json:"readPredicates"`
	ReadFiles      []string          `json:"readFiles"`
	ReadAppIDs     []string          `json:"readAppIds"`
	ReadDomains    []string          `json:"readDomains"`
	IsBlindAppend  *bool             `json:"isBlindAppend"`
	IsolationLevel string            `json:"isolationLevel"`
	Operation      string            `json:"operation"`
	CommitInfo     json.RawMessage   `json:"commitInfo"`
	Actions        []json.RawMessage `json:"actions"`
}

// Parse reads a transaction. What it read of the table's state (protocol, metadata, row ids) is left to the caller, who has
// the snapshot at ReadVersion.
func Parse(data []byte) (*conflict.Transaction, error) {
	var f file
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if dec.More() {
		return nil, fmt.Errorf("%w: something follows the JSON object, at byte %d", ErrFormat, dec.InputOffset())
	}
	if f.ReadVersion == nil {
		return nil, fmt.Errorf("%w: readVersion is missing: say which version the transaction read", ErrFormat)
	}
	txn := &conflict.Transaction{
		ReadVersion:    *f.ReadVersion,
		ReadWholeTable: f.ReadWholeTable,
		ReadAppIDs:     f.ReadAppIDs,
		ReadDomains:    f.ReadDomains,
	}
	for _, sql := range f.ReadPredicates {
		txn.Reads = append(txn.Reads, conflict.Read{SQL: sql})
	}
	for _, path := range f.ReadFiles {
		txn.ReadFiles = append(txn.ReadFiles, conflict.ReadFile{Path: path})
	}
	for i, raw := range f.Actions {
		a, err := action.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: actions[%d]: %w", ErrFormat, i, err)
		}
		if _, ok := a.(*action.CommitInfo); ok {
			return nil, fmt.Errorf("%w: actions[%d] is a commitInfo: it goes into the member commitInfo", ErrFormat, i)
		}
		txn.Actions = append(txn.Actions, a)
	}
	info, err := commitInfo(&f)
	if err != nil {
		return nil, err
	}
	txn.CommitInfo = info
	if f.IsolationLevel != "" {
		level, err := conflict.ParseLevel(f.IsolationLevel)
		if err != nil {
			return nil, fmt.Errorf("%w: isolationLevel: %w", ErrFormat, err)
		}
		txn.Isolation = &conflict.Isolation{Level: level, Source: "given with the transaction"}
	}
	return txn, nil
}

// commitInfo returns the file's commitInfo, completed by the members beside it.
func commitInfo(f *file) (*action.CommitInfo, error) {
	info := &action.CommitInfo{}
	if f.CommitInfo != nil && !bytes.Equal(f.CommitInfo, []byte("null")) {
		a, err := action.Parse(append(append([]byte(`{"commitInfo":`), f.CommitInfo...), '}'))
		if err != nil {
			return nil, fmt.Errorf("%w: commitInfo: %w", ErrFormat, err)
		}
		info = a.(*action.CommitInfo)
	}
	if f.Operation != "" && info.Operation() == "" {
		info.SetString("operation", f.Operation)
	}
	if f.IsBlindAppend != nil && info.IsBlindAppend() == nil {
		info.SetBool("isBlindAppend", *f.IsBlindAppend)
	}
	return info, nil
}
