package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	valid := []string{
		`null`, ` true `, `false`, `0`, `-0`, `-1.5e+3`, `1E9`, `""`, `"é\u00e9\"\\\/\b\f\n\r\t"`, `[]`, `[ 1 , [2] ]`, `{}`,
		`{"a":1,"a":{"b":[]}}`, `"\ud83d"`,
	}
	for _, text := range valid {
		got, err := Text([]byte(text))
		if err != nil || string(got) != strings.TrimSpace(text) {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	invalid := []struct {
		text   string
		offset int
	}{
		{``, 0}, {`x`, 0}, {`nul`, 3}, {`nulx`, 3}, {`01`, 1}, {`-`, 1}, {`1.`, 2}, {`1e`, 2}, {`1e+`, 3}, {`+1`, 0}, {`.5`, 0}, {`NaN`, 0},
		{`"a`, 2}, {`"\`, 2}, {`"\x"`, 2}, {`"\u12`, 5}, {`"\u12g4"`, 5}, {"\"\x01\"", 1}, {"\"\xff\"", 1}, {"\"\xed\xa0\x80\"", 1}, {`'a'`, 0},
		{`[`, 1}, {`[1`, 2}, {`[1,]`, 3}, {`[,1]`, 1}, {`{`, 1}, {`{"a"`, 4}, {`{"a":`, 5}, {`{"a":1`, 6}, {`{"a":1,}`, 7}, {`{a:1}`, 1},
		{`1 2`, 2}, {`{}x`, 2},
	}
	for _, tt := range invalid {
		_, err := Text([]byte(tt.text))
		if e, ok := err.(*Error); !ok || e.Offset != tt.offset {
			t.Errorf("%q: got %v, want an error at %d", tt.text, err, tt.offset)
		}
	}
}

func TestObjectStopsAtTheMembersError(t *testing.T) {
	text := []byte(` {"a":1,"\u0062":[2],"c":3}`)
	var seen []string
	end, err := Object(text, 1, func(key []byte, start, end int) error {
		seen = append(seen, string(key)+"="+string(text[start:end]))
		return nil
	})
	if err != nil || end != len(text) || strings.Join(seen, " ") != "a=1 b=[2] c=3" {
		t.Errorf("got %v, end %d, %v", seen, end, err)
	}
	stop := &Error{Reason: "enough"}
	calls := 0
	if _, err := Object(text, 1, func([]byte, int, int) error { calls++; return stop }); err != stop || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

// FuzzText compares with the standard library, which accepts the same texts but for invalid UTF-8 and deep nesting.
func FuzzText(f *testing.F) {
	f.Add([]byte(`{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,false,null,{}]}`))
	f.Add([]byte(` [ "\ud83d" ] `))
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := Text(text)
		if want := json.Valid(text) && utf8.Valid(text); want != (err == nil) && !(want && strings.Contains(err.Error(), "deep")) {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil || value[0] != '"' {
			return
		}
		got, err := Unquote(nil, value, 0, len(value))
		if err != nil {
			return // half a surrogate pair
		}
		var want string
		if json.Unmarshal(value, &want) != nil || string(got) != want {
			t.Fatalf("%q: got %q, want %q", value, got, want)
		}
		quoted := Quote(nil, want)
		back, err := Unquote(nil, quoted, 0, len(quoted))
		if err != nil || string(back) != want {
			t.Fatalf("%q became %q, %v", want, back, err)
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := []byte(`{"add":{"path":"part-00000-6a24d0ea-5e59-4bc3-a3c5-d1ba5cf3a1c5-c000.snappy.parquet","partitionValues":{"p":"1"},"size":123456,"modificationTime":1700000000000,"dataChange":true,"stats":"{\"numRecords\":100,\"minValues\":{\"id\":1,\"name\":\"aaaa\"},\"maxValues\":{\"id\":100,\"name\":\"zzzz\"},\"nullCount\":{\"id\":0,\"name\":0}}"}}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Text(text); err != nil {
			b.Fatal(err)
		}
	}
}
