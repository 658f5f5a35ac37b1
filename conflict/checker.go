package conflict

import (
	"context"
	"errors"
	"fmt"

	"github.com/deltaskip/deltaskip/action"
)

// Options say how transactions are checked. The zero Options works and decides as Delta does.
type Options struct {
	Mode Mode
	// Table names the table in messages.
	Table string
	// Features are the table features that the writer honours; nil means KnownFeatures. A winner that makes the table
	// depend on another one is a conflict.
	Features []string
}

// A Checker decides whether transactions on one table may commit after others. Many goroutines may use it at once.
type Checker struct {
	o        Options
	features map[string]bool
}

// NewChecker returns a checker.
func NewChecker(o Options) (*Checker, error) {
	if o.Mode != Off && o.Mode != Stats {
		return nil, fmt.Errorf("%w: %s", ErrUnsupportedMode, o.Mode)
	}
	if o.Features == nil {
		o.Features = KnownFeatures()
	}
	c := &Checker{o: o, features: map[string]bool{}}
	for _, name := range o.Features {
		c.features[name] = true
	}
	return c, nil
}

// against checks the loser against one winner and rebases it. It returns a [*Conflict] or, where there is no answer, any
// other error.
func (c *Checker) against(ctx context.Context, t *candidate, w *winner) error {
	if w.version != t.next {
		return fmt.Errorf("conflict: version %d is missing from the log: the next winner is version %d", t.next, w.version)
	}
	steps := []func() error{
		func() error { return checkProtocol(t, w, c.features) },
		func() error { return checkMetadata(t, w) },
		func() error { return checkAddedFeatures(t, w) },
		func() error { return checkDomains(t, w) },
		func() error { return checkTxn(t, w) },
		func() error { return rebaseBackfill(t, w) },
		func() error { return rebaseRowIDs(t, w) },
		func() error { return rebaseRowVersions(t, w) },
		func() error { return rebaseTypeWidening(t, w) },
		func() error { return c.checkAddedFiles(ctx, t, w) },
		func() error { return checkRemovedFiles(t, w) },
		func() error { return rebaseTimestamp(t, w) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	t.next = w.version + 1
	return nil
}

// result makes the answer of a finished check: err is what ended it, if anything did.
func (c *candidate) result(err error) (Result, error) {
	var f *Conflict
	if errors.As(err, &f) {
		return Result{Outcome: Conflicting, Conflict: f}, nil
	}
	if err == nil {
		err = c.checkInvariants()
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Outcome: Clear, Version: c.next, Actions: append([]action.Action{c.info}, c.actions...)}, nil
}
