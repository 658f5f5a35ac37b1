package action

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

func TestCanonicalPath(t *testing.T) {
	for path, want := range map[string]string{
		"a/b.parquet":       "a/b.parquet",
		"p=a%20b/c%2Fd":     "p=a b/c/d",
		"%e2%82%aC":         "€",
		"100%":              "100%",
		"%4":                "%4",
		"%zz%41":            "%zzA",
		"%2541":             "%41", // resolved once only
		"a+b":               "a+b",
		"/x/%23h":           "/x/#h",
		"file:/x/%23h":      "/x/#h",
		"file:///x":         "/x",
		"file://host/x":     "//host/x",
		"file:x":            "file:x",
		"s3://bucket/a%20b": "s3://bucket/a b",
		"":                  "",
		"./a":               "a",
		"d//a":              "d/a",
		"d/./a":             "d/a",
		"d/../a":            "a",
		"../a":              "../a",
		"a/..b":             "a/..b",
		"%2e%2fa":           "a",
		".a":                ".a",
		"s3://b//a/./c":     "s3://b/a/c",
		"s3://b":            "s3://b",
		"file:////a//b":     "//a/b",
	} {
		if got := CanonicalPath(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
		if got := string(AppendCanonicalPath([]byte("before "), []byte(path))); got != "before "+want {
			t.Errorf("%q: appended %q", path, got)
		}
	}
}

func TestFileName(t *testing.T) {
	for path, want := range map[string]string{
		"a/b.parquet":               "a/b.parquet",
		"p=a%20b/./c//d":            "p=a b/c/d",
		"a/../b":                    "b",
		"time=12:00:00/part":        "time=12:00:00/part",
		"%2e%2e%2e":                 "...",
		"..%2Fx":                    "",
		"%2e%2e/x":                  "",
		"a/../../x":                 "",
		"..":                        "",
		"":                          "",
		".":                         "",
		"/x":                        "",
		"%2Fx":                      "",
		"file:/x":                   "",
		"s3://bucket/x":             "",
		"C:/x":                      "",
		"a%00b":                     "",
		"..//Users/x/../etc/passwd": "",
	} {
		got, err := FileName(path)
		if got != want || (want == "") != errors.Is(err, ErrOutside) {
			t.Errorf("%q: got %q, %v; want %q", path, got, err, want)
		}
	}
}

func FuzzPath(f *testing.F) {
	f.Add("p=a%20b/c%2Fd%zz%")
	f.Add("file:///x/../%2e%2e/y")
	f.Fuzz(func(t *testing.T, path string) {
		got := CanonicalPath(path)
		want, err := url.PathUnescape(path)
		if err == nil && !strings.HasPrefix(path, "file:") && !strings.Contains(want, "/.") && !strings.Contains(want, "//") && !strings.HasPrefix(want, "./") && got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
		name, err := FileName(path)
		if err != nil {
			return
		}
		for _, element := range strings.Split(name, "/") {
			if element == "" || element == "." || element == ".." {
				t.Errorf("%q leads to %q", path, name)
			}
		}
	})
}
