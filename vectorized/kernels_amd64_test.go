//go:build !purego

package vectorized

import "testing"

// withoutAssembly runs f with the kernels' twins in Go.
func withoutAssembly(f func()) {
	defer func(had bool) { hasAVX2 = had }(hasAVX2)
	hasAVX2 = false
	f()
}

// TestKernelsInGo holds the twins of the kernels in assembly to the same.
func TestKernelsInGo(t *testing.T) { withoutAssembly(func() { TestKernels(t) }) }
