package deltalog

import (
	"fmt"
	"slices"

	"github.com/deltaskip/deltaskip/action"
)

const maxReaderVersion = 3

// readerFeatures are the features that a reader of the log must know of, and what they mean here is in the comments. Sorted.
var readerFeatures = []string{
	"columnMapping",            // statistics and partition values go by physical names
	"deletionVectors",          // part of a file's key
	"geospatial",               // no statistics are used
	"timestampNtz",             //
	"typeWidening",             // statistics may have an earlier type
	"typeWidening-preview",     //
	"v2Checkpoint",             // package checkpoint
	"vacuumProtocolCheck",      // nothing for readers of the log
	"variantShredding",         // no statistics are used
	"variantShredding-preview", //
	"variantType",              // no statistics are used
	"variantType-preview",      //
}

// catalogFeatures say that the log is only the catalog's to read, under the names they have had.
var catalogFeatures = []string{"catalogManaged", "catalogManaged-preview", "catalogOwned-preview"}

// ReaderFeatures returns the reader features of tables that can be opened, in alphabetical order.
func ReaderFeatures() []string { return slices.Clone(readerFeatures) }

// CheckReadable returns an [UnsupportedError], or one that matches [ErrCatalogManaged], unless a table with this protocol can
// be read. Features that only writers must know are no obstacle.
func CheckReadable(p *action.Protocol) error {
	if p.MinReaderVersion > maxReaderVersion {
		return &UnsupportedError{ReaderVersion: p.MinReaderVersion}
	}
	var unknown []string
	for _, name := range p.ReaderFeatures {
		if slices.Contains(catalogFeatures, name) {
			return fmt.Errorf("deltalog: reader feature %s: %w", name, ErrCatalogManaged)
		}
		if !slices.Contains(readerFeatures, name) {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		slices.Sort(unknown)
		return &UnsupportedError{Features: slices.Compact(unknown)}
	}
	return nil
}
