// Package storetest has what tests need of log stores: one in memory, one on a bad day, and the contract that every store
// must keep.
//
//	Faulty(&Mem{}, plan) ── plan(Call) picks a Fault for each call: Fail, LoseAnswer, Retry, Delay, Late
//	TestStore(t, open)   ── run it for each implementation of logstore.Store
//
// Invariants:
//  1. Nothing here reads a clock or draws a random number: what the test decides happens, in the order it decides.
package storetest
