package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoundTripKeepsTheText(t *testing.T) {
	for _, text := range []string{
		`{"add":{"path":"a%20b","partitionValues":{"p":null,"q":""},"size":9223372036854775807,"modificationTime":1,"dataChange":false,"stats":"{\"numRecords\":1}","tags":{"k":"v"},"deletionVector":{"storageType":"u","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^","offset":4,"sizeInBytes":40,"cardinality":6},"baseRowId":4071,"defaultRowCommitVersion":41,"clusteringProvider":"liquid"}}`,
		`{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"newField":{"a":[1.10,1e400]},"more":18446744073709551616}}`,
		`{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true},"beside":{"b":12345678901234567890}}`,
		`{"remove":{"path":"a","deletionTimestamp":5,"dataChange":true,"extendedFileMetadata":true,"partitionValues":{},"size":1,"tags":{"k":null}}}`,
		`{"remove":{"path":"a","dataChange":true}}`,
		`{"cdc":{"path":"_change_data/c","partitionValues":{},"size":1213,"dataChange":false}}`,
		`{"metaData":{"id":"i","name":"n","description":"d","format":{"provider":"parquet","options":{},"new":1},"schemaString":"{}","partitionColumns":["p"],"configuration":{"a":"b","c":"é\u0001\"\\\n"},"createdTime":3}}`,
		`{"metaData":{"id":"i","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{}}}`,
		`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":["domainMetadata"]}}`,
		`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`,
		`{"txn":{"appId":"x","version":-1,"lastUpdated":7}}`,
		`{"domainMetadata":{"domain":"delta.x","configuration":"{}","removed":true}}`,
		`{"sidecar":{"path":"x.parquet","sizeInBytes":1,"modificationTime":2,"tags":{}}}`,
		`{"checkpointMetadata":{"version":5}}`,
		`{"commitInfo":{"timestamp":1,"operation":"WRITE","anything":[1.0,{"x":null}]}}`,
		`{"future":{"a":1.0000000000000000001}}`,
		`{"future":[1],"other":2}`,
	} {
		a, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(Append(nil, a)); got != text {
			t.Errorf("got  %s\nwant %s", got, text)
		}
	}
}

func TestAbsentAndOddFields(t *testing.T) {
	a := mustParse[*Add](t, `{"add":{"path":"a","partitionValues":null,"stats":{"numRecords":1},"tags":null,"size":null}}`)
	if want := (&Add{Path: "a", DataChange: true}); !cmp.Equal(a, want) {
		t.Error(cmp.Diff(want, a))
	}
	if got := mustParse[*Add](t, `{"add":null,"remove":null,"add":{"path":"\ud83d\ude00"}}`).Path; got != "😀" {
		t.Errorf("path %q", got)
	}
	for _, text := range []string{`{}`, `{"add":null}`, ` { "add" : null , "future" : null } `} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrEmpty) {
			t.Errorf("%s: %v, want ErrEmpty", text, err)
		}
	}
}

func mustParse[T Action](t *testing.T, text string) T {
	t.Helper()
	a, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a.(T)
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, text string
		offset     int
		field      string
	}{
		{"empty", ``, 0, ""},
		{"array", `[1]`, 0, ""},
		{"truncated in a string", `{"add":{"path":"ab`, 18, ""},
		{"truncated in an escape", `{"add":{"path":"ab\u00`, 22, ""},
		{"truncated between members", `{"add":{"path":"ab",`, 20, ""},
		{"more text", `{"add":{"path":"a"}} x`, 21, ""},
		{"two values", `{"add":{"path":"a"}}{}`, 20, ""},
		{"two actions", `{"add":{"path":"a"},"remove":{"path":"b"}}`, 29, ""},
		{"invalid UTF-8", "{\"add\":{\"path\":\"a\xffb\"}}", 17, ""},
		{"invalid UTF-8 in an unknown action", "{\"x\":\"\xc3\"}", 6, ""},
		{"action is no object", `{"add":[]}`, 7, "add"},
		{"path is missing", `{"add":{"size":1}}`, 7, "add"},
		{"path is a number", `{"add":{"path":12}}`, 15, "add.path"},
		{"path is half a surrogate pair", `{"add":{"path":"\ud83d"}}`, 15, "add.path"},
		{"size is text", `{"add":{"path":"a","size":"1"}}`, 26, "add.size"},
		{"size is a fraction", `{"add":{"path":"a","size":1.5}}`, 26, "add.size"},
		{"size is beyond 64 bits", `{"add":{"path":"a","size":9223372036854775808}}`, 26, "add.size"},
		{"dataChange is a number", `{"add":{"path":"a","dataChange":1}}`, 32, "add.dataChange"},
		{"partition value is a number", `{"add":{"path":"a","partitionValues":{"p":1}}}`, 42, "add.partitionValues.p"},
		{"partition values are a list", `{"add":{"path":"a","partitionValues":[]}}`, 37, "add.partitionValues"},
		{"vector without a path", `{"add":{"path":"a","deletionVector":{"storageType":"u"}}}`, 36, "add.deletionVector"},
		{"protocol without a version", `{"protocol":{"minReaderVersion":1}}`, 12, "protocol"},
		{"feature is a number", `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["a",1]}}`, 77, "protocol.readerFeatures"},
		{"txn without a version", `{"txn":{"appId":"a"}}`, 7, "txn"},
		{"nested too deeply", `{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, 1004, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := Parse([]byte(tt.text))
			var c *CorruptError
			if !errors.As(err, &c) || !errors.Is(err, ErrCorrupt) {
				t.Fatalf("got %v, %v; want a CorruptError", a, err)
			}
			if c.Offset != tt.offset || c.Field != tt.field {
				t.Errorf("got offset %d, field %q: %v", c.Offset, c.Field, err)
			}
		})
	}
}

func TestTexts(t *testing.T) {
	tests := []struct {
		name, file string
		want       []Text
	}{
		{"empty", "", nil},
		{"blank lines", "\n{\"a\":1}\r\n \n\n{\"b\":2}", []Text{{[]byte(`{"a":1}`), 2}, {[]byte(`{"b":2}`), 5}}},
		{"no end of line", "{\"a\":1}\n{", []Text{{[]byte(`{"a":1}`), 1}, {[]byte(`{`), 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []Text
			for text, err := range Texts(strings.NewReader(tt.file), 0) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, Text{bytes.Clone(text.Data), text.Line})
			}
			if !cmp.Equal(got, tt.want) {
				t.Error(cmp.Diff(tt.want, got))
			}
		})
	}
}

func TestAllNamesTheLine(t *testing.T) {
	file := "{\"txn\":{\"appId\":\"a\",\"version\":1}}\n{}\n\n{\"add\":{\n\"path\":\"a\"}}\n"
	var got []Action
	var err error
	for a, e := range All(strings.NewReader(file), 0) {
		if err = e; e == nil {
			got = append(got, a)
		}
	}
	var c *CorruptError
	if !errors.As(err, &c) || c.Line != 4 || len(got) != 1 {
		t.Errorf("got %v, %v; want one action and an error on line 4", got, err)
	}
}

func TestTextsOfAnyLengthUpToTheLimit(t *testing.T) {
	var file bytes.Buffer
	var want []int
	for _, n := range []int{10, 65_534, 65_535, 65_536, 65_537, 131_072, 300_000} {
		file.WriteString(`{"x":"` + strings.Repeat("a", n-8) + "\"}\n")
		want = append(want, n)
	}
	var got []int
	for text, err := range Texts(&file, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, len(text.Data))
	}
	if !cmp.Equal(got, want) {
		t.Errorf("got lengths %v, want %v", got, want)
	}
	for _, err := range All(strings.NewReader("{\"a\":1}\n"+strings.Repeat(" ", 200_000)+"{}"), 100_000) {
		if err != nil {
			var l *LimitError
			if !errors.As(err, &l) || l.Option != "MaxActionBytes" || !strings.Contains(err.Error(), "line 2: an action of more than the 100000 bytes that option MaxActionBytes allows") {
				t.Errorf("got %v", err)
			}
			return
		}
	}
	t.Error("a line above the limit was read")
}

func TestCommitInfo(t *testing.T) {
	c := mustParse[*CommitInfo](t, `{"commitInfo":{"timestamp":5,"operation":"MERGE","operationParameters":{"predicate":"[\"x\"]","n":3},"readVersion":7,"isolationLevel":"Serializable","isBlindAppend":false,"engineInfo":"e","txnId":"t","inCommitTimestamp":9}}`)
	if c.Operation() != "MERGE" || c.IsolationLevel() != "Serializable" || c.EngineInfo() != "e" || c.TxnID() != "t" ||
		*c.ReadVersion() != 7 || *c.Timestamp() != 5 || *c.InCommitTimestamp() != 9 || *c.IsBlindAppend() {
		t.Errorf("got %s", Append(nil, c))
	}
	if want := map[string]string{"predicate": `["x"]`, "n": "3"}; !cmp.Equal(c.OperationParameters(), want) {
		t.Error(cmp.Diff(want, c.OperationParameters()))
	}
	c.Set("operationParameters", nil)
	c.SetInt("inCommitTimestamp", 10)
	c.SetBool("isBlindAppend", true)
	c.SetString("new", "a\"b")
	want := `{"commitInfo":{"timestamp":5,"operation":"MERGE","readVersion":7,"isolationLevel":"Serializable","isBlindAppend":true,"engineInfo":"e","txnId":"t","inCommitTimestamp":10,"new":"a\"b"}}`
	if got := string(Append(nil, c)); got != want {
		t.Errorf("got %s", got)
	}
	odd := mustParse[*CommitInfo](t, `{"commitInfo":{"isBlindAppend":"true","readVersion":1.5,"operation":3,"operationParameters":[]}}`)
	if odd.IsBlindAppend() != nil || odd.ReadVersion() != nil || odd.Operation() != "" || odd.OperationParameters() != nil {
		t.Error("a member of another type was used")
	}
}

func TestUniqueID(t *testing.T) {
	a := mustParse[*Add](t, `{"add":{"path":"a","deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":0,"sizeInBytes":1,"cardinality":1}}}`)
	if want := (Key{Path: "a", DV: "ux@0"}); a.Key() != want {
		t.Errorf("got %v", a.Key())
	}
	a.DeletionVector.Offset = nil
	if a.Key().DV != "ux" {
		t.Errorf("got %v", a.Key())
	}
}

// FuzzParse checks that what is accepted is JSON of the standard library's opinion and survives a round trip.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"add":{"path":"a","partitionValues":{"p":null},"size":1,"stats":"{}","tags":{"x":"y"},"z":[1,{"q":1.0}]},"w":3}`))
	f.Add([]byte(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["a"]}}`))
	f.Add([]byte(`{"metaData":{"format":{"provider":"parquet"},"configuration":{"\u00e9":"\ud83d\ude00"}}}`))
	f.Add([]byte(`{"commitInfo":{"a":[1e5,-0.0,true,false,null]}}`))
	f.Add([]byte("{\"commitInfo\"\n:{\r\n\"a\":\t{}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrEmpty) && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("an error of no type: %v", err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatalf("accepted %q", text)
		}
		once := Append(nil, a)
		if bytes.ContainsAny(once, "\n\r") || !json.Valid(once) {
			t.Fatalf("wrote %q", once)
		}
		b, err := Parse(once)
		if err != nil {
			t.Fatalf("%v in our own %q", err, once)
		}
		if twice := Append(nil, b); !bytes.Equal(once, twice) {
			t.Fatalf("not the same twice:\n%s\n%s", once, twice)
		}
	})
}
