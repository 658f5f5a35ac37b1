package main

import (
	"maps"
	"slices"
	"testing"
)

// What is measured is worth something only if it is the same work: whoever takes part in a step answers the same. The
// contestants that are not Go say so in each run.
func TestContestantsAgree(t *testing.T) {
	dir := t.TempDir()
	s := &settings{Adds: 2000, Large: 3000, Commit: 500, Winners: 5, Appends: 8}
	if err := s.make(dir, t.Logf); err != nil {
		t.Fatal(err)
	}
	mine := ours(dir, s, 2)
	compared := 0
	for _, st := range steps {
		if st.name == "append 8" {
			continue // it starts this program as its processes, which a test is not
		}
		prepare := mine[st.name]
		if prepare == nil {
			t.Errorf("deltaskip doesn't take part in %q", st.name)
			continue
		}
		want := answer(t, st.name, prepare)
		if want == 0 {
			t.Errorf("%s: the answer is 0, which anybody can find", st.name)
		}
		for _, name := range slices.Sorted(maps.Keys(goPeers)) {
			prepare := goPeers[name](dir, s)[st.name]
			if prepare == nil || !st.agree {
				continue
			}
			compared++
			if got := answer(t, st.name, prepare); got != want {
				t.Errorf("%s: %s answers %d, deltaskip %d", st.name, name, got, want)
			}
		}
	}
	if compared < 8 {
		t.Errorf("only %d answers compared", compared)
	}
}

func answer(t *testing.T, step string, prepare func() (func() (int64, error), error)) int64 {
	t.Helper()
	run, err := prepare()
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
	n, err := run()
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
	return n
}
