package vectorized

// A Verdict says how many live rows of a file may make a predicate TRUE.
type Verdict uint8

// The verdicts. The zero Verdict is the one that proves nothing.
const (
	Some Verdict = iota // may match: nothing is proven
	None                // no live row matches
	All                 // every live row matches
)
