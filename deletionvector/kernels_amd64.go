//go:build !purego

package deletionvector

import "golang.org/x/sys/cpu"

// assembly says whether this machine has what kernels_amd64.s uses. Tests clear it to try the twins in Go.
var assembly = cpu.X86.HasSSE42 && cpu.X86.HasPOPCNT && cpu.X86.HasAVX2

// commonBlocks counts the values that two arrays of na and nb bytes have in common, eight by eight, until one of them has
// fewer than eight left: those from a[i:] and b[j:] on are not counted yet. No value may be 0.
//
//go:noescape
func commonBlocks(a *byte, na int, b *byte, nb int) (n, i, j int)

// ascendingBlocks says whether the values in b[:i+2] ascend, i being as far as its blocks reach in n bytes.
//
//go:noescape
func ascendingBlocks(b *byte, n int) (i int, ok bool)

// commonWords counts the bits that are set in both of two bitsets of n bytes, a multiple of 32.
//
//go:noescape
func commonWords(a, b *byte, n int) int
