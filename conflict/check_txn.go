package conflict

import "slices"

// checkTxn looks for an application id that the loser read and the winner updated, whatever the numbers: they have no
// order that the protocol defines. An id that the loser only writes is no conflict, as in Delta, unless a [Committer] counts
// it as read.
func checkTxn(c *candidate, w *winner) error {
	for _, t := range w.Txns {
		if slices.Contains(c.appIDs, t.AppID) {
			f := c.conflict(w, ConcurrentTransaction, ApplicationAdvanced)
			f.App = t.AppID
			return f
		}
	}
	return nil
}
