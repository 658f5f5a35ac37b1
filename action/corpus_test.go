package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deltaskip/deltaskip/internal/corpus"
)

// TestLinesThatBrokeOthers reads the corpus inputs about lines of JSON.
func TestLinesThatBrokeOthers(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(corpus.Dir(t, "bugs"), "*", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cases {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			ID, Check string
			Items     []struct {
				File, Expected string
				AddCount       int
			}
			AddCount int
		}
		if err := json.Unmarshal(text, &want); err != nil || want.Check != "json" {
			continue
		}
		for _, item := range want.Items {
			t.Run(want.ID+"/"+item.File, func(t *testing.T) {
				data, err := os.ReadFile(filepath.Join(filepath.Dir(name), item.File))
				if err != nil {
					t.Fatal(err)
				}
				switch item.Expected {
				case "error", "ok":
					var wg sync.WaitGroup
					for range 32 {
						wg.Go(func() {
							adds, err := countAdds(data)
							if (err != nil) != (item.Expected == "error") || err != nil && !errors.Is(err, ErrCorrupt) || item.AddCount != 0 && adds != item.AddCount {
								t.Errorf("%d adds, %v; want %s", adds, err, item.Expected)
							}
						})
					}
					wg.Wait()
				case "per-line":
					adds := 0
					for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
						a, err := Parse(line)
						if broken := i%3 == 0; broken != (err != nil) {
							t.Errorf("line %d: %v", i+1, err)
						}
						if add, ok := a.(*Add); ok {
							adds++
							if want := fmt.Sprintf(map[int]string{1: "f%d", 2: "esc%d"}[i%3], i/3); len(add.Path) < len(want) || add.Path[:len(want)] != want {
								t.Errorf("line %d: %s, want %s…", i+1, add.Path, want)
							}
						}
					}
					if adds != want.AddCount {
						t.Errorf("%d adds, want %d", adds, want.AddCount)
					}
				default:
					t.Skipf("the expectation %q is not about single actions", item.Expected)
				}
			})
		}
	}
}

func countAdds(data []byte) (int, error) {
	n := 0
	for a, err := range All(bytes.NewReader(data), 0) {
		if err != nil {
			return n, err
		}
		if _, ok := a.(*Add); ok {
			n++
		}
	}
	return n, nil
}
