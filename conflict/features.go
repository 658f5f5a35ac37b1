package conflict

import (
	"maps"
	"slices"
	"strings"

	"github.com/deltaskip/deltaskip/action"
)

// A feature is what this package knows of a table feature. Source: Delta protocol, "Valid Feature Names in Table Features".
type feature struct {
	reader, writer int // the legacy versions that imply it, 0 if none does
	// bindsWriters says that merely supporting it asks something of every commit, and of files written before it was
	// supported. The others act through the table's metadata, whose changes have a check of their own, or are settled by
	// rebasing.
	bindsWriters bool
}

var features = map[string]feature{
	"appendOnly":                   {writer: 2},
	"invariants":                   {writer: 2},
	"checkConstraints":             {writer: 3},
	"changeDataFeed":               {writer: 4},
	"generatedColumns":             {writer: 4},
	"columnMapping":                {reader: 2, writer: 5},
	"identityColumns":              {writer: 6},
	"allowColumnDefaults":          {},
	"catalogManaged":               {},
	"catalogOwned-preview":         {},
	"checkpointProtection":         {},
	"clustering":                   {},
	"deletionVectors":              {},
	"domainMetadata":               {},
	"geospatial":                   {},
	"geospatial-dev":               {},
	"icebergCompatV1":              {},
	"icebergCompatV2":              {},
	"icebergCompatV3":              {},
	"inCommitTimestamp":            {},
	"materializePartitionColumns":  {bindsWriters: true},
	"rowTracking":                  {},
	"timestampNtz":                 {},
	"typeWidening":                 {},
	"typeWidening-preview":         {},
	"v2Checkpoint":                 {},
	"vacuumProtocolCheck":          {},
	"variantShredding":             {},
	"variantShredding-preview":     {},
	"variantType":                  {},
	"variantType-preview":          {},
	"coordinatedCommits-preview":   {bindsWriters: true},
	"redirectReaderWriter-preview": {bindsWriters: true},
	"redirectWriterOnly-preview":   {bindsWriters: true},
}

// KnownFeatures returns the table features that this package can check conflicts under, in alphabetical order.
func KnownFeatures() []string { return slices.Sorted(maps.Keys(features)) }

// The protocol versions that list their features by name and imply none, which are also the highest ones.
const (
	listingReader = 3
	listingWriter = 7
)

// supports reports whether a protocol supports a feature: lists it, or implies it by its versions.
func supports(p *action.Protocol, name string) bool {
	if p == nil {
		return false
	}
	if slices.Contains(p.WriterFeatures, name) || slices.Contains(p.ReaderFeatures, name) {
		return true
	}
	f := features[name]
	byReader := f.reader == 0 || p.MinReaderVersion < listingReader && p.MinReaderVersion >= f.reader
	byWriter := f.writer != 0 && p.MinWriterVersion < listingWriter && p.MinWriterVersion >= f.writer
	return byReader && byWriter
}

// supported returns the names of all features that a protocol supports.
func supported(p *action.Protocol) map[string]bool {
	names := map[string]bool{}
	if p == nil {
		return names
	}
	for _, name := range slices.Concat(p.ReaderFeatures, p.WriterFeatures) {
		names[name] = true
	}
	for name := range features {
		if supports(p, name) {
			names[name] = true
		}
	}
	return names
}

// missingFrom returns the features of p that are not in names, in alphabetical order.
func missingFrom(names map[string]bool, p *action.Protocol) []string {
	var missing []string
	for name := range supported(p) {
		if !names[name] {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// enabled reports whether a boolean table property is on.
func enabled(m *action.Metadata, property string) bool {
	return m != nil && strings.EqualFold(m.Configuration[property], "true")
}
