package deletionvector_test

import (
	"fmt"

	"github.com/deltaskip/deltaskip/deletionvector"
)

// Two transactions that read a file with one deleted row marked others in it: their vectors merge if no row is in both.
func ExampleMerge() {
	base := deletionvector.Of(3)
	winner, loser := base.Union(deletionvector.Range(10, 13)), base.Union(deletionvector.Of(20))
	merged, overlap, err := deletionvector.Merge(winner, loser, base)
	fmt.Println(merged.Cardinality(), overlap.Count, err)
	_, overlap, err = deletionvector.Merge(winner, base.Union(deletionvector.Of(11, 20)), base)
	fmt.Println(overlap.Count, overlap.Rows, err)
	// Output:
	// 5 0 <nil>
	// 1 [11] <nil>
}
