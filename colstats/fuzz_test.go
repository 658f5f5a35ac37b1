package colstats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/internal/corpus"
)

// fuzzLayout demands columns of every type, at every depth, with names that invite mistakes.
func fuzzLayout(t testing.TB) *Layout {
	return layoutOf(t, `{"type":"struct","fields":[`+
		`{"name":"x","type":"long","nullable":true,"metadata":{}},`+
		`{"name":"i","type":"integer","nullable":true,"metadata":{}},`+
		`{"name":"s","type":"string","nullable":true,"metadata":{}},`+
		`{"name":"d","type":"double","nullable":true,"metadata":{}},`+
		`{"name":"w","type":"double","nullable":true,"metadata":{"delta.typeChanges":[{"fromType":"float","toType":"double"}]}},`+
		`{"name":"de","type":"decimal(10,2)","nullable":true,"metadata":{}},`+
		`{"name":"t","type":"timestamp","nullable":true,"metadata":{}},`+
		`{"name":"n","type":"timestamp_ntz","nullable":true,"metadata":{}},`+
		`{"name":"dt","type":"date","nullable":true,"metadata":{}},`+
		`{"name":"b","type":"boolean","nullable":true,"metadata":{}},`+
		`{"name":"a","type":{"type":"array","elementType":"long","containsNull":true},"nullable":true,"metadata":{}},`+
		`{"name":"stats","type":"long","nullable":true,"metadata":{}},`+
		`{"name":"minValues","type":"long","nullable":true,"metadata":{}},`+
		`{"name":"z.z","type":"long","nullable":true,"metadata":{}},`+
		`{"name":"q\"\\é","type":"long","nullable":true,"metadata":{}},`+
		`{"name":"z","type":{"type":"struct","fields":[`+
		`{"name":"z","type":"long","nullable":true,"metadata":{}},`+
		`{"name":"y","type":{"type":"struct","fields":[{"name":"z","type":"string","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}`+
		`]},"nullable":true,"metadata":{}},`+
		`{"name":"p","type":"string","nullable":true,"metadata":{}},`+
		`{"name":"pi","type":"integer","nullable":true,"metadata":{}},`+
		`{"name":"pt","type":"timestamp","nullable":true,"metadata":{}}`+
		`]}`, "p", "pi", "pt")
}

// primer is a text from which a reader learns another order of keys than most inputs have.
const primer = `{"numRecords":3,"minValues":{"z":{"z":1},"x":1,"s":"a","i":1,"d":1.0},"maxValues":{"x":9,"s":"b","z":{"y":{"z":"q"}}},"nullCount":{"s":0,"x":0,"i":0,"a":1}}`

var statsSeeds = []string{
	"", "null", "{}", "[]", "5", `"x"`, "not json", primer,
	`{"numRecords":10,"minValues":{"x":1,"i":2,"s":"a","d":1.5,"w":0.1,"de":1.25,"t":"2020-01-01T00:00:00.000Z","n":"2020-01-01T00:00:00.000","dt":"2020-01-01","b":false,"stats":1,"minValues":2,"z.z":3,"q\"\\é":4,"z":{"z":5,"y":{"z":"k"}}},"maxValues":{"x":9,"s":"b"},"nullCount":{"x":0,"i":10,"s":0,"a":0,"z":{"z":0,"y":{"z":0}}},"tightBounds":false}`,
	`{"numRecords": 10, "minValues": {"x": 9007199254740993, "d": "NaN"}, "maxValues": {"x": 9223372036854775808, "d": "Infinity"}, "nullCount": {"x": 0, "d": 0}}`,
	`{"numRecords":1,"minValues":{"x":1,"x":2},"maxValues":{"s":"\ud800"},"nullCount":{"x":0,"s":0}}`,
	`{"numRecords":1,"minValues":{"z":{"z":1},"z":{"y":null}},"nullCount":{"z":{"z":0,"z":0}}}`,
	`{"numRecords":1,"minValues":{"\u0078":1,"s":"\"\\\u00e9"},"maxValues":{"x":-0,"d":1e400},"nullCount":{"x":0,"s":0,"d":0}}`,
	`{"minValues":[],"maxValues":"x","nullCount":{"x":{}},"numRecords":"1","numRecords":1}`,
	`{"numRecords":1,"minValues":{"x":01}}`, `{"numRecords":1,"minValues":{"x":NaN}}`, `{"numRecords":1}xyz`, "\ufeff{}", `{"a":[1,2,{"b":[[]]},-0.5e+3]}`,
	`{"numRecords":1,"minValues":{"s":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"maxValues":{"s":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` + "\uFFFD" + `"},"nullCount":{"s":0}}`,
}

func FuzzStats(f *testing.F) {
	for _, s := range statsSeeds {
		f.Add(primer, s)
		f.Add(s, primer)
	}
	// Keys that were learnt at the start of an object are no keys in the middle of one.
	f.Add(`{"minValues":{"s":"a"}}`, `{"minValues":{"x":1{"s":"a"}}}`)
	f.Add(`{"minValues":{"s":"a"}}`, `{"numRecords":1{"minValues":{"s":"a"}}}`)
	f.Add(`{"minValues":{"x":1,"s":"a"}}`, `{"minValues":{,"s":"a"}}`)
	layout := fuzzLayout(f)
	f.Fuzz(func(t *testing.T, before, text string) { checkStatistics(t, layout, before, text) })
}

func FuzzLine(f *testing.F) {
	for _, s := range statsSeeds {
		f.Add([]byte(`{"add":{"path":"p","partitionValues":{"p":"a","pi":"1","pt":null},"size":1,"dataChange":true,"stats":` + quoted(s) + `}}`))
		f.Add([]byte(`{"add":{"stats":"` + escapedEntirely(s) + `","path":"\u0070"}}`))
	}
	for _, s := range []string{
		"", " ", "{}", "[]", "{", `{"add":{"path":"a\u12`, `{"add":{"path":"\uD83C`, `{"add":{"path":"x"}}}`, "\ufeff{\"add\":{}}",
		`{"remove":{"path":"r","deletionVector":{"storageType":"u","pathOrInlineDv":"ab","offset":1,"sizeInBytes":40,"cardinality":6}}}`,
		`{"a\\dd":1,"\u0061dd":{"path":"esc0","partitionValues":{"p":"","pi":"","pi":"1","pt":5},"stats":{"numRecords":1}}}`,
		`{"add":{"path":"a","stats":"{}","stats":"{\"numRecords\":1}","partitionValues":{"p":"x"},"partitionValues":{}}}`,
		`{"commitInfo":{"operation":"WRITE","operationMetrics":{}},"txn":null}`, `{"add":null}`, `{"add":{}}`, `{"add":{"path":"a"},"txn":{}}`,
	} {
		f.Add([]byte(s))
	}
	layout := fuzzLayout(f)
	f.Fuzz(func(t *testing.T, line []byte) { checkLine(t, layout, line) })
}

// Every line of the corpora reads like the reference.
func TestCorpusLines(t *testing.T) {
	layout := fuzzLayout(t)
	for _, name := range []string{"skipping", "bugs"} {
		logs, err := filepath.Glob(filepath.Join(corpus.Dir(t, name), "*", "*", "*", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		more, err := filepath.Glob(filepath.Join(corpus.Dir(t, name), "*", "_delta_log", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for _, log := range append(logs, more...) {
			data, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(string(data), "\n") {
				lines++
				checkLine(t, layout, []byte(line))
				if _, stats, ok := strings.Cut(line, `"stats":"`); ok {
					checkStatistics(t, layout, primer, strings.ReplaceAll(strings.TrimSuffix(stats, `"}}`), `\"`, `"`))
				}
			}
		}
		t.Logf("%s: %d lines", name, lines)
	}
}
