// Package schema says what columns a Delta table has: their logical and physical names, their types, and whether file
// statistics about them may be believed.
//
//	metaData.schemaString ──┐
//	metaData.partitionColumns ─ Parse ──► Table ── Lookup("a","b") ──► Column ── BoundsUsable
//	metaData.configuration ─┘                                            │        StatisticsTypes
//	                                                                     └── Physical: keys into statistics,
//	                                                                         partition values, parquet columns
//
// Invariants:
//  1. One Table yields one *Column per path, whatever the spelling, so that columns compare by pointer.
//  2. Names match without regard to case; two fields that differ in case only are an ambiguity, never a guess.
//  3. A type that this version does not know is [Unknown], not an error: such a column can still be asked IS NULL.
//  4. BoundsUsable answers no wherever a minimum or maximum could order values otherwise than the reader does.
//  5. Bytes of a table never panic and never recurse deeper than [MaxDepth].
package schema
