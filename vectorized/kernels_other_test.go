//go:build !amd64 || purego

package vectorized

// withoutAssembly runs f, as there is none.
func withoutAssembly(f func()) { f() }
