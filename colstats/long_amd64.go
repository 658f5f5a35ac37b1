//go:build !purego

package colstats

import "golang.org/x/sys/cpu"

// assembly says whether this machine has what long_amd64.s uses. Tests clear it.
var assembly = cpu.X86.HasAVX2

// classify classifies blocks*64 bytes.
//
//go:noescape
func classify(dst *masks, s *byte, blocks int)
