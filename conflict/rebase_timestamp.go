package conflict

import (
	"maps"
	"strconv"

	"github.com/deltaskip/deltaskip/action"
)

// rebaseTimestamp makes the loser's in-commit timestamp follow the winner's, on a table that has them: since before, by
// the winner, or by the loser itself. Source: Delta protocol, "In-Commit Timestamps".
func rebaseTimestamp(c *candidate, w *winner) error {
	if !enabled(c.metadata, propInCommitTimestamps) {
		return nil
	}
	own := c.info.InCommitTimestamp()
	if own == nil { // prepared before the table had them
		own = c.info.Timestamp()
	}
	if own == nil {
		return invalid("the table has in-commit timestamps and commitInfo has no timestamp")
	}
	stamp := max(*own, w.Timestamp()+1)
	c.info.SetInt("inCommitTimestamp", stamp)
	prior := c.txn.Metadata // the winner changed none, or the loser's would conflict
	c.recordEnablement(prior, w.Version+1, stamp)
	return nil
}

// recordEnablement keeps the loser's own metadata telling since when the table has in-commit timestamps: since this
// commit, where it turns them on, or since whenever the metadata before it says.
func (c *candidate) recordEnablement(prior *action.Metadata, version, stamp int64) {
	own := first[*action.Metadata](c.actions)
	if own == nil || !enabled(own, propInCommitTimestamps) || version == 0 {
		return
	}
	settings := map[string]string{
		propTimestampsVersion:   strconv.FormatInt(version, 10),
		propTimestampsTimestamp: strconv.FormatInt(stamp, 10),
	}
	if enabled(prior, propInCommitTimestamps) {
		since, known := prior.Configuration[propTimestampsVersion]
		_, kept := own.Configuration[propTimestampsVersion]
		if !known || kept {
			return
		}
		settings = map[string]string{
			propTimestampsVersion:   since,
			propTimestampsTimestamp: prior.Configuration[propTimestampsTimestamp],
		}
	}
	updated := *own
	updated.Configuration = maps.Clone(own.Configuration)
	maps.Copy(updated.Configuration, settings)
	c.metadata = &updated
	c.rewrite(func(a action.Action) action.Action {
		if a == action.Action(own) {
			return &updated
		}
		return a
	})
}
