package deletionvector

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/deltaskip/deltaskip/action"
)

func TestPath(t *testing.T) {
	tests := []struct {
		name     string
		d        action.DeletionVector
		path     string
		absolute bool
		broken   bool
	}{
		// The protocol's first example.
		{"random prefix", action.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^"}, "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", false, false},
		{"no prefix", action.DeletionVector{StorageType: "u", PathOrInlineDV: "^-aqEH.-t@S}K{vb[*k^"}, "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", false, false},
		{"absolute, as the log spells it", action.DeletionVector{StorageType: "p", PathOrInlineDV: "s3://t/a%20b.bin"}, "s3://t/a%20b.bin", true, false},
		{"prefix out of the table", action.DeletionVector{StorageType: "u", PathOrInlineDV: "../^-aqEH.-t@S}K{vb[*k^"}, "", false, true},
		{"prefix from the root", action.DeletionVector{StorageType: "u", PathOrInlineDV: "/x^-aqEH.-t@S}K{vb[*k^"}, "", false, true},
		{"UUID too short", action.DeletionVector{StorageType: "u", PathOrInlineDV: "^-aqEH.-t@S}K{vb[*k"}, "", false, true},
		{"UUID with a character that is no digit", action.DeletionVector{StorageType: "u", PathOrInlineDV: "^-aqEH.-t@S}K{vb[*k~"}, "", false, true},
		{"UUID group above four bytes", action.DeletionVector{StorageType: "u", PathOrInlineDV: "^-aqEH.-t@S}K{v#####"}, "", false, true},
		{"no absolute path", action.DeletionVector{StorageType: "p"}, "", false, true},
		{"inline has no file", action.DeletionVector{StorageType: "i", PathOrInlineDV: "00000"}, "", false, true},
		{"unknown storage type", action.DeletionVector{StorageType: "x"}, "", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path, absolute, err := Path(&tt.d)
			if path != tt.path || absolute != tt.absolute || errors.Is(err, ErrCorrupt) != tt.broken || err != nil != tt.broken {
				t.Errorf("%q, %t, %v", path, absolute, err)
			}
		})
	}
}

// TestZ85 has the example of ZeroMQ RFC 32.
func TestZ85(t *testing.T) {
	data, _ := hex.DecodeString("864fd26fb559f75b")
	if got := encodeZ85(data); got != "HelloWorld" {
		t.Errorf("encoded %q", got)
	}
	if got, err := decodeZ85("HelloWorld"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("decoded %x, %v", got, err)
	}
	for _, broken := range []string{"a", "HelloWorl", "Hello Worl", "#####", "%nSc1", "\xff0000"} {
		if got, err := decodeZ85(broken); err == nil {
			t.Errorf("%q decoded to %x", broken, got)
		}
	}
	if got, err := decodeZ85("%nSc0"); err != nil || !bytes.Equal(got, []byte{0xff, 0xff, 0xff, 0xff}) {
		t.Errorf("decoded %x, %v", got, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		got, err := decodeZ85(encodeZ85(data))
		if err != nil || !bytes.Equal(got[:len(data)], data) || len(got) >= len(data)+4 {
			t.Fatalf("%x came back as %x, %v", data, got, err)
		}
	})
}
