package conflict

import (
	"slices"

	"github.com/deltaskip/deltaskip/action"
)

// rowTrackingDomain holds row tracking's high-water mark. Both sides may move it: see rebaseRowIDs.
const rowTrackingDomain = "delta.rowTracking"

// checkDomains looks for a metadata domain that the loser read or writes and the winner wrote.
func checkDomains(c *candidate, w *winner) error {
	for _, d := range w.Domains {
		if d.Domain == rowTrackingDomain {
			continue
		}
		if slices.Contains(c.txn.ReadDomains, d.Domain) || c.writesDomain(d.Domain) {
			f := c.conflict(w, ConcurrentTransaction, DomainChanged)
			f.Domain = d.Domain
			return f
		}
	}
	return nil
}

func (c *candidate) writesDomain(name string) bool {
	return slices.ContainsFunc(c.actions, func(a action.Action) bool {
		d, ok := a.(*action.DomainMetadata)
		return ok && d.Domain == name
	})
}
