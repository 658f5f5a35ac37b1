// Package predicate reads predicates over a table's columns, types them as Spark 4.1 does in ANSI mode, and evaluates
// them row by row: slowly and obviously, so that everything faster can be tested against it.
//
//	SQL text ── Parse ──┐                                   ┌── Split ──► partition and data conjuncts
//	                    ├─► Expr, untyped ── Bind ──► Predicate ── Columns, Deterministic
//	Go builder ─────────┘   (Col, Lit, Eq, …)    │          └── Eval(row) ──► TRUE, FALSE, NULL or an error
//	                                             │
//	                     schema.Table: names, types     Lookup: the functions
//
// Invariants:
//  1. A tree never changes once made; binding makes a new one. Bound trees are shared without locks.
//  2. In a bound tree both sides of a [Compare] and all members of an [In] have one type; columns, literals and casts
//     say which. Only an [Opaque] side may be of a type that isn't known.
//  3. What SQL allows but this engine cannot evaluate is [Opaque], never an error: it may be TRUE, FALSE or NULL. What
//     Spark refuses is an error with Spark's class: [SyntaxError] or [BindError].
//  4. A constant that raises an error is a [BindError], as Spark's optimiser raises it; inside CASE it stays and raises an
//     [EvalError] for the rows that reach it.
//  5. Binding simplifies, but the predicate is TRUE for exactly the rows for which its text is.
//  6. String() of a node parsed or built parses to the same tree again.
package predicate
