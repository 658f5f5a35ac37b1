package predicate

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/deltaskip/deltaskip/internal/corpus"
	"github.com/deltaskip/deltaskip/schema"
)

// raisedByRows are the corpus's errors that no text has: Spark raised them while evaluating a predicate on partition
// values or on statistics.
var raisedByRows = map[string]bool{
	"part_str_int_date ps = pd": true, "part_str_int_date ps = 0": true, "part_str_int_date `ps` = 12": true,
	"part_str_int_date pi + 1 > 2": true, "part_float_long_ntz `pl` + 1 > -1": true,
	"char_varchar `pc` = 19": true, "clustered_plike `c` = 16": true, "colmap_name `part2` = 12": true,
}

func TestCorpusBinds(t *testing.T) {
	tables, err := filepath.Glob(filepath.Join(corpus.Dir(t, "skipping"), "*", "table.json"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range tables {
		var info struct {
			Table            string
			Schema           json.RawMessage
			PartitionColumns []string `json:"partition_columns"`
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &info); err != nil {
			t.Fatal(err)
		}
		table, err := schema.Parse(string(info.Schema), info.PartitionColumns, nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		f, err := os.Open(filepath.Join(filepath.Dir(path), "cases.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<22)
		for lines.Scan() {
			var c struct {
				Predicate string
				Error     *string
			}
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			count++
			want := ""
			if c.Error != nil && !raisedByRows[info.Table+" "+c.Predicate] {
				want = *c.Error
			}
			if got := bindClass(c.Predicate, table); got != want {
				t.Errorf("%s: %s: error class %q, want %q", info.Table, c.Predicate, got, want)
			}
		}
		f.Close()
	}
	t.Logf("%d cases", count)
}

// bindClass parses and binds, and returns the class of the error, if any.
func bindClass(sql string, table *schema.Table) string {
	e, err := Parse(sql, ParseOptions{})
	if err == nil {
		_, err = Bind(e, table, Env{})
	}
	var syntax *SyntaxError
	var bind *BindError
	switch {
	case errors.As(err, &syntax):
		return syntax.Class
	case errors.As(err, &bind):
		return bind.Class
	case err != nil:
		return "untyped: " + err.Error()
	}
	return ""
}
