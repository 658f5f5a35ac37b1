// Package jsonscan finds the values inside JSON text without building a tree of them.
//
//	{"add":{"path":"a","size":1}}
//	       ^-- Object calls back with key "path", value span [15,18), key "size", …
//
// It exists because the two places that read actions need spans of the original bytes: unknown fields are written back as
// they were read, numbers keep every digit, and statistics are read only where a predicate asks for them.
//
// Invariants:
//  1. It accepts exactly RFC 8259 texts, except that nesting is limited to [MaxDepth] and strings must be valid UTF-8;
//     a string that names half a surrogate pair is accepted by [Value] and refused by [Unquote].
//  2. An error is an [*Error] with the offset of the first byte that cannot continue the text.
//  3. Nothing is allocated, except by Unquote and for keys that contain escapes.
//
// The scanner of package colstats walks JSON too, and neither is built on the other: that one reads statistics inside their
// quotes, with keys guessed from the line before, and stops at text that is wrong without saying why; here every error has
// a reason and every member a checked span. One walker for both would have to do all of this on the hottest path.
package jsonscan
