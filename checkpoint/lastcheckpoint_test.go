package checkpoint

import (
	"errors"
	"testing"
)

// The protocol's own example.
func TestJSONChecksum(t *testing.T) {
	const text = `{"k0":"'v 0'", "checksum": "adsaskfljadfkjadfkj", "k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}`
	got, err := jsonChecksum([]byte(text))
	if want := "6a92d155a59bf2eecbd4b4ec7fd1f875"; got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestLastCheckpoint(t *testing.T) {
	want := LastCheckpoint{Version: 7, Size: 12, Parts: 3, SizeInBytes: 4567, NumAdds: 10}
	text := want.Append(nil)
	got, err := ParseLastCheckpoint(text)
	if err != nil || *got != want {
		t.Errorf("%s parses to %+v, %v", text, got, err)
	}
	for name, text := range map[string]string{
		"empty":           "",
		"cut":             string(text[:len(text)-3]),
		"array":           "[1]",
		"no version":      `{"size":3}`,
		"null version":    `{"version":null}`,
		"string version":  `{"version":"3"}`,
		"negative":        `{"version":-3}`,
		"fraction":        `{"version":3.5}`,
		"too large":       `{"version":99999999999999999999}`,
		"wrong checksum":  `{"version":3,"checksum":"6a92d155a59bf2eecbd4b4ec7fd1f875"}`,
		"twice":           `{"version":3,"version":3,"checksum":"6a92d155a59bf2eecbd4b4ec7fd1f875"}`,
		"trailing":        string(text) + "x",
		"too many parts":  `{"version":3,"parts":99999999999}`,
		"half a sequence": `{"version":3,"x":"\ud800","checksum":""}`,
	} {
		if got, err := ParseLastCheckpoint([]byte(text)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if got, err := ParseLastCheckpoint([]byte(` {"version":3,"parts":null,"size":1,"v2Checkpoint":{"path":"x"}} `)); err != nil || got.Version != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzLastCheckpoint(f *testing.F) {
	f.Add([]byte(`{"version":3,"size":1,"checkpointSchema":{"type":"struct","fields":[]},"checksum":"x"}`))
	f.Add((&LastCheckpoint{Version: 1, Size: 2, Parts: 3}).Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLastCheckpoint(data)
		if err != nil {
			return
		}
		again, err := ParseLastCheckpoint(l.Append(nil))
		if err != nil || *again != *l {
			t.Errorf("%q: %+v, then %+v, %v", data, l, again, err)
		}
	})
}
