package txnfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/internal/corpus"
)

func TestParse(t *testing.T) {
	txn, err := Parse([]byte(`{"readVersion":3,"readPredicates":["id < 5","p = 1"],"readFiles":["a%20b.parquet"],
		"readAppIds":["app"],"readDomains":["d"],"isBlindAppend":false,"isolationLevel":"WriteSerializable","operation":"DELETE",
		"actions":[{"remove":{"path":"a%20b.parquet","dataChange":true}}],"note":"for people"}`))
	if err != nil {
		t.Fatal(err)
	}
	if txn.ReadVersion != 3 || len(txn.Reads) != 2 || txn.Reads[1].SQL != "p = 1" || txn.ReadFiles[0].Path != "a%20b.parquet" {
		t.Errorf("read %+v", txn)
	}
	if txn.Isolation.Level != conflict.WriteSerializable {
		t.Errorf("isolation %v", txn.Isolation)
	}
	if blind := txn.CommitInfo.IsBlindAppend(); blind == nil || *blind || txn.CommitInfo.Operation() != "DELETE" {
		t.Errorf("commitInfo lacks what stood beside it: %s", action.Append(nil, txn.CommitInfo))
	}
	if r, ok := txn.Actions[0].(*action.Remove); !ok || r.Path != "a%20b.parquet" {
		t.Errorf("actions %v", txn.Actions)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"not JSON":               {`{`, "EOF"},
		"no readVersion":         {`{}`, "readVersion"},
		"bad action":             {`{"readVersion":1,"actions":[{"add":{}},{"add":7}]}`, "actions["},
		"commitInfo as action":   {`{"readVersion":1,"actions":[{"commitInfo":{}}]}`, "actions[0]"},
		"unknown level":          {`{"readVersion":1,"isolationLevel":"Chaos"}`, "isolationLevel"},
		"commitInfo not object":  {`{"readVersion":1,"commitInfo":[]}`, "commitInfo"},
		"trailing text":          {`{"readVersion":1} x`, "follows"},
		"readVersion fractional": {`{"readVersion":1.5}`, "readVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an ErrFormat that mentions %q", err, tt.want)
			}
		})
	}
}

func TestCorpusParses(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Dir(t, "conflicts"), "*", "txn.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d transactions parse", len(files))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"readVersion":1,"actions":[{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}]}`))
	f.Add([]byte(`{"readVersion":0,"commitInfo":{"operation":"X"},"isolationLevel":"Serializable"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Parse(data); err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("untyped error %v", err)
		}
	})
}
