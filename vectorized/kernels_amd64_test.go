//go:build !purego

package vectorized

import "testing"

// TestKernelsInGo holds the twins of the kernels in assembly to the same.
func TestKernelsInGo(t *testing.T) {
	defer func(had bool) { hasAVX2 = had }(hasAVX2)
	hasAVX2 = false
	TestKernels(t)
}
