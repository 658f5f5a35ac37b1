package conflict

import "github.com/deltaskip/deltaskip/action"

// checkInvariants checks the actions that are about to be written, rebased or not: no path is added twice or removed
// twice, no file is both added and removed as it is, and all agree whether data changes.
func (c *candidate) checkInvariants() error {
	added, removed := map[string]string{}, map[string]string{} // deletion vector by path
	var data, noData string                                    // some path of each sort
	note := func(path string, dataChange bool) {
		if dataChange {
			data = path
		} else {
			noData = path
		}
	}
	for _, a := range c.actions {
		switch a := a.(type) {
		case *action.Add:
			path, dv := action.CanonicalPath(a.Path), a.Key().DV
			if _, twice := added[path]; twice {
				return &TransactionError{Path: a.Path, Reason: "the file is added twice"}
			}
			if r, ok := removed[path]; ok && r == dv {
				return &TransactionError{Path: a.Path, Reason: "the file is added and removed with the same deletion vector"}
			}
			added[path] = dv
			note(a.Path, a.DataChange)
		case *action.Remove:
			path, dv := action.CanonicalPath(a.Path), a.Key().DV
			if _, twice := removed[path]; twice {
				return &TransactionError{Path: a.Path, Reason: "the file is removed twice"}
			}
			if r, ok := added[path]; ok && r == dv {
				return &TransactionError{Path: a.Path, Reason: "the file is added and removed with the same deletion vector"}
			}
			removed[path] = dv
			note(a.Path, a.DataChange)
		}
	}
	if data != "" && noData != "" {
		return &TransactionError{Path: data, Reason: "it has dataChange true and " + noData + " has it false; one commit must not mix them"}
	}
	return nil
}
