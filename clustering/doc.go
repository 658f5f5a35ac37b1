// Package clustering measures how well statistics tell a table's files apart, column by column: how many files have bounds at
// all, how wide these are, and how deep the files' ranges lie over one another.
//
//	files' ranges      ├───a───┤        ├──b──┤
//	                       ├────c────┤
//	depth              1   2    1    0  1           files that a lookup of one value has to keep
//
// A file that may hold any value, for want of bounds, adds to the depth everywhere: skipping keeps it, too. Where a column has
// no bounds the report says why.
//
// Sources: what Snowflake calls clustering depth; Delta protocol, "Per-file Statistics".
//
// Invariants:
//  1. A column costs two bounds per file of memory while it is measured; as many columns at a time are measured in one pass over
//     the log as fit Options.MaxBytes, at least one.
//  2. Depth and points are exact, for every type: no bound goes through a float. Widths are estimates.
package clustering
