//go:build !amd64 || purego

package deletionvector

var assembly = false

func commonBlocks(a *byte, na int, b *byte, nb int) (n, i, j int) {
	panic("deletionvector: no assembly")
}
func ascendingBlocks(b *byte, n int) (i int, ok bool) { panic("deletionvector: no assembly") }
func commonWords(a, b *byte, n int) int               { panic("deletionvector: no assembly") }
