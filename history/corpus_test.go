package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/history"
	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/internal/txnfile"
	"github.com/deltaskip/deltaskip/logstore/storetest"
)

// loadLog copies the log of a table into memory.
func loadLog(t testing.TB, table string) *storetest.Mem {
	t.Helper()
	store := &storetest.Mem{}
	names, err := filepath.Glob(filepath.Join(table, deltalog.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.PutIfAbsent(context.Background(), deltalog.Dir+"/"+filepath.Base(name), data); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// TestCorpus commits the loser of every scenario as it stands, as if it had won the race, and replays: where replaying says that
// it may commit, Delta let it commit.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Dir(t, "conflicts"), "*", "txn.json"))
	if err != nil {
		t.Fatal(err)
	}
	// No log tells of reads beside those of the operation.
	untold := []string{"whole_predicate_then_all", "whole_predicate_then_whole_table"}
	var same, wider int
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var scenario struct {
				ReadVersion         int64
				TableIsolationLevel *string
				Expected            map[string]struct{ Outcome, Error string }
			}
			if err := json.Unmarshal(data, &scenario); err != nil {
				t.Fatal(err)
			}
			txn, err := txnfile.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			store := loadLog(t, filepath.Join(filepath.Dir(file), "table"))
			log := deltalog.Open(store, deltalog.Options{})
			newest, err := log.Snapshot(t.Context(), deltalog.SnapshotOptions{})
			if err != nil {
				t.Fatal(err)
			}
			version := newest.Version + 1
			newest.Close()
			if txn.CommitInfo.Operation() == "Manual Update" && len(txn.Reads) == 1 && !txn.ReadWholeTable { // made through Delta's API
				parameter, err := json.Marshal([]string{txn.Reads[0].SQL})
				if err != nil {
					t.Fatal(err)
				}
				parameters, err := json.Marshal(map[string]string{"predicate": string(parameter)})
				if err != nil {
					t.Fatal(err)
				}
				txn.CommitInfo.SetString("operation", "UPDATE")
				txn.CommitInfo.Set("operationParameters", parameters)
			}
			txn.CommitInfo.SetInt("readVersion", scenario.ReadVersion)
			line := append(action.Append(nil, txn.CommitInfo), '\n')
			for _, a := range txn.Actions {
				line = append(action.Append(line, a), '\n')
			}
			if err := store.PutIfAbsent(t.Context(), deltalog.CommitName(version), line); err != nil {
				t.Fatal(err)
			}
			report, err := history.Replay(t.Context(), log, history.Options{From: version})
			if err != nil {
				t.Fatal(err)
			}
			if scenario.ReadVersion == version-1 {
				if len(report.Races) != 0 {
					t.Errorf("%d races without a winner", len(report.Races))
				}
				return
			}
			if len(report.Races) != 1 {
				t.Fatalf("%d races", len(report.Races))
			}
			race := report.Races[0]
			level := conflict.Serializable
			if l := scenario.TableIsolationLevel; l != nil && *l == "WriteSerializable" {
				level = conflict.WriteSerializable
			}
			for mode, key := range map[conflict.Mode]string{conflict.Off: "off", conflict.Stats: "skipping"} {
				got := race.Verdicts[slices.Index(history.Questions[:], history.Question{Mode: mode, Level: level})]
				want := scenario.Expected[key]
				said := fmt.Sprintf("%s: %s, reads %s (%s) %v %v", mode, got.Outcome, race.Reads, race.Reads.Note, got.Conflict, got.Err)
				switch {
				case got.Outcome == conflict.Clear && want.Outcome != "commit":
					if !slices.Contains(untold, name) && !(mode == conflict.Stats && scenario.Expected["exact"].Outcome == "commit") {
						t.Errorf("want %s %s: %s", want.Outcome, want.Error, said)
					}
				case got.Outcome == conflict.Clear, got.Outcome == conflict.Conflicting && want.Outcome == "conflict":
					same++
				case got.Outcome == conflict.Conflicting:
					// An application id that is set is taken to have been looked up, as sinks do.
					if name != "app_same_id_not_read" {
						t.Errorf("want %s: %s", want.Outcome, said)
					}
					wider++
				default:
					wider++
				}
			}
		})
	}
	t.Logf("%d outcomes as in Delta, %d not known from the log", same, wider)
}
