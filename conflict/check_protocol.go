package conflict

import (
	"slices"

	"github.com/deltaskip/deltaskip/action"
)

// checkProtocol compares the winner's protocol with the one that was read and adopts it. Features that
// only work through metadata are not looked at here: see checkMetadata.
func checkProtocol(c *candidate, w *winner) error {
	own := first[*action.Protocol](c.actions)
	if own != nil && w.Protocol == nil {
		// Dropping a feature was allowed because nothing used it; the winner may. Delta validates again, feature by feature, at
		// the winner's version; that needs the operation itself, which can be run again.
		if dropped := missingFrom(supported(own), c.txn.Protocol); len(dropped) > 0 {
			return c.featureConflict(w, ProtocolChanged, FeatureDropped, dropped[0])
		}
	}
	if w.Protocol == nil {
		return nil
	}
	if p := w.Protocol; p.MinReaderVersion > listingReader || p.MinWriterVersion > listingWriter {
		return c.conflict(w, UnsupportedFeature, FeatureUnknown)
	}
	if unknown := missingFrom(c.known, w.Protocol); len(unknown) > 0 {
		return c.featureConflict(w, UnsupportedFeature, FeatureUnknown, unknown[0])
	}
	if own != nil && w.Version == 0 {
		return c.tableCreated(w)
	}
	if own != nil {
		return c.conflict(w, ProtocolChanged, ProtocolChangeBoth)
	}
	if removed := missingFrom(supported(w.Protocol), c.txn.Protocol); len(removed) > 0 {
		return c.featureConflict(w, ProtocolChanged, FeatureRemoved, removed[0])
	}
	c.protocol = w.Protocol
	return nil
}

// tableCreated is the conflict of two transactions that create one table. What differs between the tables is told, apart
// from what always does.
func (c *candidate) tableCreated(w *winner) error {
	f := c.conflict(w, ProtocolChanged, TableCreated)
	if own := first[*action.Metadata](c.actions); own != nil && w.Metadata != nil {
		f.Metadata = slices.DeleteFunc(tableDifferences(own, w.Metadata), func(d Difference) bool {
			return d.Field == "id" || d.Field == "createdTime"
		})
	}
	return f
}

// checkAddedFeatures looks for a feature of the winner's that binds writers by being supported. It runs after checkMetadata,
// so that a feature which came with a metadata change is reported as that, as Delta does.
func checkAddedFeatures(c *candidate, w *winner) error {
	if w.Protocol == nil {
		return nil
	}
	added := missingFrom(c.read.features, w.Protocol)
	if i := slices.IndexFunc(added, func(name string) bool { return features[name].bindsWriters }); i >= 0 {
		return c.featureConflict(w, ProtocolChanged, FeatureAdded, added[i])
	}
	return nil
}

func (c *candidate) featureConflict(w *winner, kind Kind, reason Reason, feature string) error {
	f := c.conflict(w, kind, reason)
	f.Feature = feature
	return f
}
