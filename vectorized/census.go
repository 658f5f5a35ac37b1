package vectorized

import "github.com/deltaskip/deltaskip/colstats"

// A Census counts the files that a reader leaves out because [Program.Prune] proved that none of them matches, so that who
// prunes counts the same files, for the same reasons, as who doesn't. That takes no more of a file than the columns of its
// partition predicates. It also fails where these do (see [predicate.EvalError]).
//
// One goroutine uses a Census at a time.
//
// [predicate.EvalError]: https://pkg.go.dev/github.com/deltaskip/deltaskip/predicate#EvalError
type Census struct {
	program *Program
	scratch Scratch
	stats   Stats
}

// Census returns a census of nothing yet.
func (p *Program) Census() *Census { return &Census{program: p.PartitionOnly()} }

// Layout returns what batches for the census must hold. The caller does not change it.
func (c *Census) Layout() *colstats.Layout { return c.program.layout }

// Count counts a batch of files, none of which matches.
func (c *Census) Count(b *colstats.Batch) error {
	r, err := c.program.Eval(b, &c.scratch)
	if err != nil {
		return err
	}
	none := make([]uint64, len(r.May))
	c.stats.Add(count(b.Len(), r.May, none))
	return nil
}

// Stats returns what was counted.
func (c *Census) Stats() Stats { return c.stats }
