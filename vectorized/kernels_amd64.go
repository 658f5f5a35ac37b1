//go:build !purego

package vectorized

import (
	"cmp"

	"golang.org/x/sys/cpu"
)

// hasAVX2 chooses the kernels in assembly. Tests clear it to run their twins in Go.
var hasAVX2 = cpu.X86.HasAVX2

//go:noescape
func lessInt64AVX2(dst *uint64, values *int64, words int, lit int64)

//go:noescape
func lessInt32AVX2(dst *uint64, values *int32, words int, lit int32)

//go:noescape
func lessFloat64AVX2(dst *uint64, values *float64, words int, lit float64)

//go:noescape
func lessFloat32AVX2(dst *uint64, values *float32, words int, lit float32)

//go:noescape
func betweenInt64AVX2(dst *uint64, lowers, uppers *int64, words int, from, below int64)

//go:noescape
func betweenInt32AVX2(dst *uint64, lowers, uppers *int32, words int, from, below int32)

//go:noescape
func betweenFloat64AVX2(dst *uint64, lowers, uppers *float64, words int, from, below float64)

//go:noescape
func betweenFloat32AVX2(dst *uint64, lowers, uppers *float32, words int, from, below float32)

// betweenFast is between for as many whole words as a faster kernel does, and returns their number.
func betweenFast[T cmp.Ordered](dst []uint64, lowers, uppers []T, from, below T) (words int) {
	words = len(lowers) / 64
	if words == 0 || !hasAVX2 {
		return 0
	}
	_, _ = dst[words-1], uppers[words*64-1]
	switch lowers := any(lowers).(type) {
	case []int64:
		betweenInt64AVX2(&dst[0], &lowers[0], &any(uppers).([]int64)[0], words, any(from).(int64), any(below).(int64))
	case []int32:
		betweenInt32AVX2(&dst[0], &lowers[0], &any(uppers).([]int32)[0], words, any(from).(int32), any(below).(int32))
	case []float64:
		betweenFloat64AVX2(&dst[0], &lowers[0], &any(uppers).([]float64)[0], words, any(from).(float64), any(below).(float64))
	case []float32:
		betweenFloat32AVX2(&dst[0], &lowers[0], &any(uppers).([]float32)[0], words, any(from).(float32), any(below).(float32))
	default:
		return 0
	}
	return words
}

// lessThanFast is lessThan for as many whole words as a faster kernel does, and returns their number.
func lessThanFast[T cmp.Ordered](dst []uint64, values []T, lit T) (words int) {
	words = len(values) / 64
	if words == 0 || !hasAVX2 {
		return 0
	}
	_ = dst[words-1]
	switch values := any(values).(type) {
	case []int64:
		lessInt64AVX2(&dst[0], &values[0], words, any(lit).(int64))
	case []int32:
		lessInt32AVX2(&dst[0], &values[0], words, any(lit).(int32))
	case []float64:
		lessFloat64AVX2(&dst[0], &values[0], words, any(lit).(float64))
	case []float32:
		lessFloat32AVX2(&dst[0], &values[0], words, any(lit).(float32))
	default:
		return 0
	}
	return words
}
