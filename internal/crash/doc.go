// Package crash runs a program for a test and kills it at a boundary between two system calls that change files, so that a
// test can try all of them: before the first, before the second, until the program runs to its end.
//
//	Run(cmd, dir, 1) ─► killed before open ─► look at dir     Calls: open
//	Run(cmd, dir, 2) ─► killed before write ─► look at dir            open, write
//	…
//	Run(cmd, dir, 0) ─► not killed                                    open, write, sync, link, sync, say
//
// It watches the program with ptrace, so that nothing in the program knows of it, and a call that is added later is a boundary
// by itself.
//
// Invariants:
//  1. The call at which the program was killed has not been begun, all calls before it have ended.
//  2. A killed program has ended, with all its threads, when Run returns.
package crash
