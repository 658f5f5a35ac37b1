//go:build !amd64 || purego

package vectorized

import "cmp"

func lessThanFast[T cmp.Ordered]([]uint64, []T, T) (words int) { return 0 }

func betweenFast[T cmp.Ordered]([]uint64, []T, []T, T, T) (words int) { return 0 }
