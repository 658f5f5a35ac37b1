package deltalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/internal/ordered"
)

// A replay knows, of the file actions in the commits of a segment, which count.
type replay struct {
	seed uint64
	last map[xxh3.Uint128]place // of each key the action that came last; nil once nobody needs it
	// Per commit: the lines that hold an add or remove that counts, and how many adds do.
	adds, removes []lineSet
	numAdds       int64
}

// A lineSet is a set of line numbers, one bit each.
type lineSet []uint64

func (s *lineSet) add(line int32) {
	for int(line)/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[line/64] |= 1 << (line % 64)
}

func (s lineSet) remove(line int32) {
	if int(line)/64 < len(s) {
		s[line/64] &^= 1 << (line % 64)
	}
}

func (s lineSet) any() bool {
	for _, word := range s {
		if word != 0 {
			return true
		}
	}
	return false
}

func (s lineSet) has(line int32) bool {
	return int(line)/64 < len(s) && s[line/64]>>(line%64)&1 != 0
}

// found is what one chunk says.
type found struct {
	keys    []keyAt
	actions []action.Action // that are not about files
}

type keyAt struct {
	key xxh3.Uint128
	at  place
	add bool
}

// replay reads all commits of a segment once, and calls other with the actions that are not about files, in log order.
// keepKeys says that seen will be asked.
func (l *Log) replay(ctx context.Context, commits []CommitFile, keepKeys bool, other func(action.Action)) (*replay, error) {
	r := &replay{
		seed:    rand.Uint64(), // so that nobody can prepare two paths with one hash
		last:    map[xxh3.Uint128]place{},
		adds:    make([]lineSet, len(commits)),
		removes: make([]lineSet, len(commits)),
	}
	all := func(int) bool { return true }
	source := func(ctx context.Context) iter.Seq2[*chunk, error] {
		return l.chunks(ctx, commits, all, func(place) bool { return true })
	}
	scan := func(_ context.Context, c *chunk) (found, error) { return r.scan(c, commits) }
	for f, err := range ordered.Map(ctx, l.o.Workers, source, scan, nil) {
		for _, a := range f.actions { // those before an error as well: a protocol among them may explain it
			other(a)
		}
		if err != nil {
			return nil, err
		}
		for _, k := range f.keys {
			r.put(k)
		}
	}
	if !keepKeys {
		r.last = nil
	}
	return r, nil
}

// put makes k the action that counts for its key.
func (r *replay) put(k keyAt) {
	if old, ok := r.last[k.key]; ok {
		if r.adds[old.commit].has(old.line) {
			r.numAdds--
		}
		r.adds[old.commit].remove(old.line)
		r.removes[old.commit].remove(old.line)
	}
	r.last[k.key] = k.at
	if k.add {
		r.adds[k.at.commit].add(k.at.line)
		r.numAdds++
	} else {
		r.removes[k.at.commit].add(k.at.line)
	}
}

// seen reports whether a commit has an action for a file of the checkpoint. Many goroutines may call it at once.
func (r *replay) seen(path, deletionVector []byte) bool {
	_, ok := r.last[r.key(path, deletionVector)]
	return ok
}

// key returns the identity of a file: 128 bits that no two keys of a table share by chance.
func (r *replay) key(path, deletionVector []byte) xxh3.Uint128 {
	var stack [512]byte
	text := action.AppendCanonicalPath(stack[:0], path)
	text = append(text, 0)
	text = append(text, deletionVector...)
	return xxh3.Hash128Seed(text, r.seed)
}

// scan finds out what the lines of a chunk are.
func (r *replay) scan(c *chunk, commits []CommitFile) (found, error) {
	defer spare.Put(c)
	f := found{keys: make([]keyAt, 0, len(c.ends))}
	var line colstats.Line
	for at, text := range c.lines() {
		file := commits[at.commit].Entry.Name
		if err := line.Scan(text); err != nil {
			return f, corrupt(file, int(at.line), err)
		}
		switch line.Kind {
		case colstats.AddLine, colstats.RemoveLine:
			if escapes(line.Path) {
				return f, corrupt(file, int(at.line), fmt.Errorf("path %q: %w", line.Path, action.ErrOutside))
			}
			f.keys = append(f.keys, keyAt{r.key(line.Path, line.DeletionVector), at, line.Kind == colstats.AddLine})
		case colstats.CommitInfoLine:
			if int(at.commit) < len(commits)-1 {
				continue // only that of the newest commit is part of a snapshot
			}
			fallthrough
		case colstats.MetadataLine, colstats.ProtocolLine, colstats.TxnLine, colstats.DomainMetadataLine:
			a, err := action.Parse(text)
			if errors.Is(err, action.ErrEmpty) {
				continue
			}
			if err != nil {
				return f, corrupt(file, int(at.line), err)
			}
			f.actions = append(f.actions, a)
		}
	}
	return f, nil
}

// escapes reports whether a relative path leads out of the table.
func escapes(uri []byte) bool {
	if !bytes.Contains(uri, []byte("..")) && bytes.IndexByte(uri, '%') < 0 {
		return false // nearly all paths
	}
	name := path.Clean(action.CanonicalPath(string(uri)))
	return name == ".." || strings.HasPrefix(name, "../")
}
