package conflict

import (
	"strings"

	"github.com/deltaskip/deltaskip/action"
)

// clusteringDomain holds the columns that a table is clustered by.
const clusteringDomain = "delta.clustering"

// rebaseDomains takes away what a table that is replaced must not keep: a clustering that the winner gave it, which the loser,
// who did not see it, neither sets nor removes. Its columns may not exist in the new table. Other domains survive a
// replacement, as in Delta.
func rebaseDomains(c *candidate, w *winner) error {
	if !replacesTable(c.txn.operation()) {
		return nil
	}
	for _, d := range w.Domains {
		if d.Domain == clusteringDomain && !c.writesDomain(clusteringDomain) {
			gone := *d
			gone.Removed = true
			c.actions = append(c.actions[:len(c.actions):len(c.actions)], action.Action(&gone))
		}
	}
	return nil
}

// replacesTable knows Delta's names of the operation: [CREATE OR ]REPLACE TABLE[ AS SELECT].
func replacesTable(operation string) bool {
	name := strings.TrimSuffix(strings.TrimPrefix(strings.ToUpper(operation), "CREATE OR "), " AS SELECT")
	return name == "REPLACE TABLE"
}
