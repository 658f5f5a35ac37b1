//go:build !amd64 || purego

package colstats

var assembly = false

func classify(dst *masks, s *byte, blocks int) { panic("colstats: no assembly") }
