package conflict

import (
	"container/list"
	"context"
	"encoding/json"
	"sync"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
	"github.com/deltaskip/deltaskip/schema"
)

const (
	defaultCacheBytes = 64 << 20
	maxTables         = 64 // schemas that are remembered
)

// A WinnerCache keeps commits that transactions lost to, with what was decoded of them, so that a service which checks many
// transactions reads each commit once. Many goroutines and several [Checker] values may share one; who asks for a commit
// that is being read waits for it. Commits are known by table, version, and the file's size, time and etag: a table may be
// made anew at the same place.
type WinnerCache struct {
	budget int64

	mu      sync.Mutex
	bytes   int64
	entries map[cacheKey]*list.Element // of *cacheEntry
	recent  list.List                  // the most recently used entry in front
	tables  map[string]*schema.Table   // by what they were parsed from, so that layouts of equal tables are equal
}

type cacheKey struct {
	table any // Options.Table, or the store of a table without a name
	entry logstore.Entry
}

type cacheEntry struct {
	key   cacheKey
	ready chan struct{} // closed when the reading is over, one way or the other
	w     *winner       // nil until then; the cache holds one reference
	bytes int64
}

// NewWinnerCache returns a cache of about so many bytes; 0 means 64 MiB.
func NewWinnerCache(bytes int64) *WinnerCache {
	if bytes <= 0 {
		bytes = defaultCacheBytes
	}
	return &WinnerCache{budget: bytes, entries: map[cacheKey]*list.Element{}, tables: map[string]*schema.Table{}}
}

func keyOfCommit(table any, f deltalog.CommitFile) cacheKey {
	key := cacheKey{table, f.Entry}
	key.entry.ModTime = key.entry.ModTime.UTC() // one time has many zones
	return key
}

// present returns a commit if it is in the cache, and nil otherwise. The caller releases it.
func (c *WinnerCache) present(table any, f deltalog.CommitFile) *winner {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[keyOfCommit(table, f)]
	if !ok || element.Value.(*cacheEntry).w == nil {
		return nil
	}
	c.recent.MoveToFront(element)
	w := element.Value.(*cacheEntry).w
	w.retain()
	return w
}

// winner returns a commit from the cache, or from read. The caller releases it.
func (c *WinnerCache) winner(ctx context.Context, table any, f deltalog.CommitFile, read func() (*deltalog.Commit, error)) (*winner, error) {
	key := keyOfCommit(table, f)
	for {
		c.mu.Lock()
		element, ok := c.entries[key]
		if !ok {
			e := &cacheEntry{key: key, ready: make(chan struct{})}
			c.entries[key] = c.recent.PushFront(e)
			c.mu.Unlock()
			return c.fill(e, read)
		}
		e := element.Value.(*cacheEntry)
		if e.w != nil {
			c.recent.MoveToFront(element)
			e.w.retain()
			c.mu.Unlock()
			return e.w, nil
		}
		c.mu.Unlock()
		select {
		case <-e.ready: // if that failed, it was for the other's reasons: try anew
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// fill reads the commit of an entry that this goroutine has put there.
func (c *WinnerCache) fill(e *cacheEntry, read func() (*deltalog.Commit, error)) (*winner, error) {
	defer close(e.ready)
	commit, err := read()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.remove(e)
		return nil, err
	}
	w := newWinner(commit)
	w.grown = func(bytes int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.charge(e, bytes)
	}
	if c.holds(e) { // it has not been closed meanwhile
		w.retain()
		e.w = w
		c.charge(e, commit.Entry.Size)
	}
	return w, nil
}

func (c *WinnerCache) holds(e *cacheEntry) bool {
	element, ok := c.entries[e.key]
	return ok && element.Value == e
}

// charge adds to what an entry takes and evicts others, or itself, to stay within the budget. Of an entry that was evicted
// and is still in use nobody keeps count.
func (c *WinnerCache) charge(e *cacheEntry, bytes int64) {
	if !c.holds(e) {
		return
	}
	e.bytes += bytes
	c.bytes += bytes
	for last := c.recent.Back(); last != nil && c.bytes > c.budget; {
		old := last.Value.(*cacheEntry)
		last = last.Prev()
		if old.w != nil {
			c.remove(old)
		}
	}
}

func (c *WinnerCache) remove(e *cacheEntry) {
	if !c.holds(e) {
		return
	}
	c.recent.Remove(c.entries[e.key])
	delete(c.entries, e.key)
	c.bytes -= e.bytes
	if e.w != nil {
		e.w.release()
	}
}

// table returns the schema of a table's metadata, one and the same for equal metadata.
func (c *WinnerCache) table(m *action.Metadata) (*schema.Table, error) {
	key, err := json.Marshal([]any{m.SchemaString, m.PartitionColumns, m.Configuration})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	t := c.tables[string(key)]
	c.mu.Unlock()
	if t != nil {
		return t, nil
	}
	if t, err = schema.Parse(m.SchemaString, m.PartitionColumns, m.Configuration); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.tables[string(key)]; known != nil {
		return known, nil
	}
	if len(c.tables) >= maxTables {
		clear(c.tables)
	}
	c.tables[string(key)] = t
	return t, nil
}

// Close frees what is held. Commits in use live on until they are released.
func (c *WinnerCache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.recent.Len() > 0 {
		c.remove(c.recent.Front().Value.(*cacheEntry))
	}
}
