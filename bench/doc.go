// Package bench makes synthetic Delta logs and times the engine on them.
//
//	Workload ── Files ──► adds ──► WriteLog (JSON commits)
//	                        └────► batches in memory, for kernels
//
// Invariants:
//
//  1. Equal workloads give equal bytes, on every machine.
//  2. Nothing here reads a clock except to time a benchmark.
package bench
