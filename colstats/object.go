package colstats

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// An object stands for the JSON objects that come at one place of every action, such as its minValues: it knows which of
// their keys are wanted and in what order keys came so far. Writers put the same keys in the same order into every
// action, so that comparing a few bytes with a guess finds most keys without looking for their end.
type object struct {
	wanted map[string]int // from a key to what its reader calls it; shared and never changed
	plain  []guess        // in the order of the text
	// escaped are the guesses inside a JSON string, see scan.go.
	escaped []guess
}

// guesses returns where the keys of a text with such quotes are guessed.
func (o *object) guesses(quote byte) *[]guess {
	if quote == plain {
		return &o.plain
	}
	return &o.escaped
}

// What stands for an id: a key that nobody wants, and no key at all.
const (
	unwanted = -1
	finished = -2
)

// A guess is a key as it stands in the text, from the brace or comma before it to the colon after it.
type guess struct {
	text  string
	opens bool // the text starts with a brace
	id    int
	// The first eight bytes of the text and the last eight, which start at `last`; of a shorter text both are all of it,
	// and mask leaves out what comes after.
	head, tail, mask uint64
	last             int
}

// Bounds of what an object learns, and how far ahead it looks for a key: some objects leave out keys, such as those of
// columns that are all NULL.
const (
	maxGuesses   = 1024
	maxGuessSize = 512
	lookahead    = 64
)

func newGuess(text []byte, id int) guess {
	var padded [8]byte
	copy(padded[:], text)
	g := guess{text: string(text), opens: text[0] == '{', id: id, mask: ^uint64(0), last: max(0, len(text)-8)}
	if len(text) < 8 {
		g.mask = 1<<(8*len(text)) - 1
	}
	g.head = binary.LittleEndian.Uint64(padded[:])
	copy(padded[:], text[g.last:])
	g.tail = binary.LittleEndian.Uint64(padded[:])
	return g
}

// at says whether the key stands at i. A short key among the last bytes of a text it may deny.
func (g *guess) at(s []byte, i int) bool {
	if len(s)-i < g.last+8 || (load(s, i)&g.mask^g.head)|(load(s, i+g.last)&g.mask^g.tail) != 0 {
		return false
	}
	return g.last <= 8 || string(s[i+8:i+g.last]) == g.text[8:g.last]
}

// read reads an object that starts at i, and calls member for each wanted key with its id and the index of its value.
// Like the functions of scan.go, both return the index behind what they read, or ^i.
func (o *object) read(s []byte, i int, quote byte, depth int, member func(id, i int) int) int {
	if depth == 0 || at(s, i) != '{' {
		return ^i
	}
	guesses := *o.guesses(quote)
	for position := 0; ; position++ {
		id := unwanted
		if position < len(guesses) && guesses[position].opens == (position == 0) && guesses[position].at(s, i) {
			g := &guesses[position]
			id, i = g.id, i+len(g.text)
		} else if i, position, id = o.next(s, i, quote, position); id == finished {
			return i
		} else {
			guesses = *o.guesses(quote)
		}
		c := at(s, i)
		if c <= ' ' {
			i = space(s, i, quote)
			c = at(s, i)
		}
		switch {
		case id != unwanted:
			i = member(id, i)
		case isDigit(c):
			// A number of a few digits is read here, which most are. A leading zero, a fraction or more digits are not.
			if len(s)-i >= 8 {
				w := load(s, i)
				n := bits.TrailingZeros64(nonDigits(w)) / 8
				if byte(w>>(8*n)) == ',' && (c != '0' || n == 1) {
					i += n
					continue
				}
			}
			i = number(s, i)
		case c == quote:
			i, _ = stringAt(s, i, quote)
		default:
			i = value(s, i, quote, depth-1)
		}
		if i < 0 {
			return i
		}
	}
}

// next reads, at the brace or comma at i or at the end of the object, a key that is not the one guessed for the position.
// It returns the index behind the colon, the position that the key has among the guesses, and its id. If there is no key
// the id is finished and the index is that behind the object, or ^i.
func (o *object) next(s []byte, i int, quote byte, position int) (int, int, int) {
	i = space(s, i, quote)
	start, c := i, at(s, i)
	switch {
	case c == '}' && position > 0:
		return i + 1, 0, finished
	case c == '{' && position == 0 || c == ',' && position > 0:
	default:
		return ^i, 0, finished
	}
	guesses := o.guesses(quote)
	for k := position; k < len(*guesses) && k <= position+lookahead; k++ {
		if g := &(*guesses)[k]; bytes.HasPrefix(s[i:], asBytes(g.text)) {
			return i + len(g.text), k, g.id
		}
	}
	if i = space(s, i+1, quote); c == '{' && at(s, i) == '}' {
		return i + 1, 0, finished
	}
	end, plainText := stringAt(s, i, quote)
	if end < 0 {
		return end, 0, finished
	}
	n := quoteLen(quote)
	id := o.idOf(s[i+n:end-n], plainText)
	if i = space(s, end, quote); at(s, i) != ':' {
		return ^i, 0, finished
	}
	i++
	if i-start <= maxGuessSize && len(*guesses) < maxGuesses {
		*guesses = slices.Insert(*guesses, min(position, len(*guesses)), newGuess(s[start:i], id))
	}
	return i, position, id
}

// idOf returns the id of a key. A key with half a surrogate pair is the name of nothing.
func (o *object) idOf(key []byte, plainText bool) int {
	if !plainText {
		broken := false
		if key, broken = unescape(nil, key); broken {
			return unwanted
		}
	}
	if id, ok := o.wanted[string(key)]; ok {
		return id
	}
	return unwanted
}
