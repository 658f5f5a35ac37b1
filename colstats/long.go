package colstats

import "math/bits"

// masks has, for 64 bytes of text, a bit for each quote, backslash, control character and byte beyond ASCII, LSB first.
type masks struct{ quote, backslash, control, high uint64 }

// longBlocks is how many times 64 bytes are classified at once.
const longBlocks = 8

// longCharacters is [characters] with the plain quote, for strings that are long and full of escaped quotes, as statistics in
// an action are: 64 bytes at a time, after "Parsing Gigabytes of JSON per Second" (Langdale, Lemire, VLDB Journal 2019). What
// is rare in statistics, and errors, it leaves to characters.
func longCharacters(s []byte, start int) (end int, plainText bool) {
	if !assembly {
		return characters(s, start, plain)
	}
	var blocks [longBlocks]masks
	var last [64]byte                  // what is left at the end of the text, and control characters
	var carry uint64                   // 1: the byte before is a backslash that escapes the next one
	firstHigh, behindHigh := len(s), 0 // all bytes beyond ASCII are between these
	plainText = true
	for i := start; i < len(s); {
		from, n := s[i:], min((len(s)-i)/64, longBlocks)
		if n == 0 {
			copy(last[:], from)
			from, n = last[:], 1
		}
		classify(&blocks[0], &from[0], n)
		for b := range blocks[:n] {
			m := &blocks[b]
			escaped := carry
			if m.backslash|carry != 0 {
				escaped, carry = escapes(m.backslash, carry)
			}
			text := ^uint64(0) // the bytes before the closing quote
			closing := m.quote &^ escaped
			if closing != 0 {
				text = closing&-closing - 1
			}
			if m.backslash&text != 0 {
				plainText = false
			}
			if m.control&text != 0 || !simpleEscapes(from[b*64:], escaped&text&^m.quote&^m.backslash) {
				return characters(s, start, plain)
			}
			if high := m.high & text; high != 0 {
				firstHigh = min(firstHigh, i+bits.TrailingZeros64(high))
				behindHigh = i + bits.Len64(high)
			}
			if closing != 0 {
				if firstHigh < behindHigh && invalidUTF8(s[firstHigh:behindHigh]) >= 0 {
					return characters(s, start, plain)
				}
				return i + bits.TrailingZeros64(closing), plainText
			}
			i += 64
		}
	}
	return characters(s, start, plain) // which finds no end either
}

// escapes returns which of 64 bytes a backslash escapes, and 1 if the byte after them is. carry is 1 if the first one is.
func escapes(backslash, carry uint64) (escaped, next uint64) {
	const even = 0x5555555555555555
	backslash &^= carry
	follows := backslash<<1 | carry
	odd := backslash &^ even &^ follows              // runs of backslashes that start at an odd byte
	sequences, next := bits.Add64(odd, backslash, 0) // end at an even byte then, if their length is odd
	return (even ^ sequences<<1) & follows, next
}

// simpleEscapes says whether the bytes that are marked are letters of escapes without more to them.
func simpleEscapes(s []byte, marked uint64) bool {
	for ; marked != 0; marked &= marked - 1 {
		switch s[bits.TrailingZeros64(marked)] {
		case '/', 'b', 'f', 'n', 'r', 't':
		default:
			return false
		}
	}
	return true
}
