package main

import (
	"testing"
	"time"

	"github.com/deltaskip/deltaskip/conflict"
)

func TestBothModesIngest(t *testing.T) {
	for _, mode := range []conflict.Mode{conflict.Off, conflict.Stats} {
		came, err := run(t.Context(), mode, 4, 300*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if came.appends.Load() == 0 {
			t.Errorf("mode %s: nothing was appended", mode)
		}
	}
}
