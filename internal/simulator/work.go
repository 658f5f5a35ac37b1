package simulator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/deltaskip/deltaskip/conflict"
	"github.com/deltaskip/deltaskip/deletionvector"
)

// A work is one transaction: what it does to the rows that it sees, and what it tells the log of that.
type work struct {
	name      string // transaction id
	kind      string // for people
	operation string // as commitInfo calls it
	conds     []condition
	opaque    []string // predicates that cannot be evaluated
	whole     bool     // it reads the whole table, and says no more
	files     []string // the files that it reads without a predicate
	// does is what the transaction does to the rows it sees, which are in order of their ids. It depends on nothing else.
	does func(visible []row) changes

	at      *version // that it read
	changes changes  // what it does there
	txn     *conflict.Transaction
	vectors map[string]*deletionvector.Vector // of the known files that it adds again with other ones
	sorts   bool                              // a compaction that doesn't keep the rows' order
}

// reads are what the transaction tells of the predicates it read by.
func (w *work) reads() (reads []conflict.Read) {
	for _, c := range w.conds {
		reads = append(reads, conflict.Read{SQL: c.sql})
	}
	for _, sql := range w.opaque {
		reads = append(reads, conflict.Read{SQL: sql})
	}
	return reads
}

// sorted returns rows in order of their ids.
func sorted(rows map[int64]row) []row {
	list := make([]row, 0, len(rows))
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, rows[id])
	}
	return list
}

const idsOfOne = 20 // ids that one transaction may give to new rows

// A kind is a sort of transaction; weights are about how common they are.
type kind struct {
	name   string
	weight int
	make   func(p *planner, w *work)
}

var kinds = []kind{
	{"insert", 40, (*planner).insert},
	{"delete", 32, (*planner).delete},
	{"update", 40, (*planner).update},
	{"merge", 30, (*planner).merge},
	{"optimize", 20, (*planner).optimize},
	{"several reads", 10, (*planner).severalReads},
	{"insert select", 6, (*planner).insertSelect},
	{"undelete", 8, (*planner).undelete},
	{"subquery", 3, (*planner).subquery},
	{"compute stats", 3, (*planner).computeStats},
	{"files only", 3, (*planner).filesOnly},
	{"restore", 3, (*planner).restore},
	{"odd insert", 2, (*planner).oddInsert},
}

func (d dice) kind() kind {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := d.IntN(total)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			return k
		}
	}
	panic("weights")
}

// newRows draws rows with ids of the transaction's own.
func (p *planner) newRows(n int) []row {
	var rows []row
	centre := p.d.small(keys)
	partition := p.d.partition()
	for i := range n {
		if p.d.once(4) {
			partition = p.d.partition()
		}
		rows = append(rows, p.d.row(p.firstID+int64(i), centre, partition, p.name))
	}
	return rows
}

func puts(rows ...row) changes {
	c := changes{}
	for _, r := range rows {
		c[r.id] = some(r)
	}
	return c
}

func (p *planner) insert(w *work) {
	w.operation = "WRITE"
	rows := p.newRows(1 + p.d.IntN(4))
	w.does = func([]row) changes { return puts(rows...) }
}

// oddInsert claims that it changes no data, as people do who misuse the flag.
func (p *planner) oddInsert(w *work) {
	p.insert(w)
	w.operation = pick(p.d, "WRITE", "OPTIMIZE")
	p.dataChange = false
}

// condition draws a predicate; where writers meet in few files, often one of few of their rows.
func (p *planner) condition() condition {
	if p.world.hot && !p.d.once(3) {
		low := p.d.Int64N(16)
		high := low + p.d.Int64N(3)
		return condition{fmt.Sprintf("id BETWEEN %d AND %d", low, high), func(r *row) tri { return truth(low <= r.id && r.id <= high) }}
	}
	return p.d.condition(p.ids)
}

func (p *planner) delete(w *work) {
	w.operation = "DELETE"
	c := p.condition()
	w.conds = []condition{c}
	w.does = func(visible []row) changes {
		out := changes{}
		for _, r := range visible {
			if c.matches(&r) {
				out[r.id] = opt[row]{}
			}
		}
		return out
	}
}

// assignment draws the SET of an UPDATE.
func (p *planner) assignment() func(row) row {
	d, name := p.d, p.name
	var set func(*row)
	switch d.IntN(9) {
	case 0, 1, 2:
		n := 1 + d.small(9)
		set = func(r *row) { r.x.v = (r.x.v + n) % (keys + 4) }
	case 3:
		set = func(r *row) { r.x = opt[int32]{} }
	case 4:
		n := d.small(keys)
		set = func(r *row) { r.k, r.x = (r.k+n)%keys, some(n) }
	case 5:
		f := d.float()
		set = func(r *row) { r.f = some(f) }
	case 6:
		s := d.text()
		set = func(r *row) { r.s = some(s) }
	case 7:
		part := d.partition()
		set = func(r *row) { r.p = opt[int32]{part, part >= 0}; r.p.v = max(r.p.v, 0) }
	default:
		set = func(*row) {}
	}
	return func(r row) row {
		set(&r)
		if !r.x.ok {
			r.x.v = 0
		}
		r.by = name
		return r
	}
}

func (p *planner) update(w *work) {
	w.operation = "UPDATE"
	c, set := p.condition(), p.assignment()
	w.conds = []condition{c}
	w.does = func(visible []row) changes {
		out := changes{}
		for _, r := range visible {
			if c.matches(&r) {
				out[r.id] = some(set(r))
			}
		}
		return out
	}
}

// merge joins source rows by their keys, perhaps within one partition.
func (p *planner) merge(w *work) {
	w.operation = "MERGE"
	var list []int32
	for range 1 + p.d.IntN(3) {
		if k := p.d.small(keys); !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	on := in(list)
	within := opt[int32]{}
	if p.d.once(2) {
		within = some(p.d.small(partitions))
		on = and(ints("p", columnP, "=", within.v), on)
	}
	source := p.newRows(len(list))
	for i := range source {
		source[i].k = list[i]
		if within.ok {
			source[i].p = within
		}
	}
	set, deletes, inserts := p.assignment(), p.d.once(4), !p.d.once(4)
	also := condition{of: func(*row) tri { return yes }}
	if p.d.once(3) {
		also = p.d.leaf(p.ids) // WHEN MATCHED AND
	}
	bySource := p.d.once(25)
	w.conds = []condition{on}
	w.whole = bySource // WHEN NOT MATCHED BY SOURCE looks at every row
	w.does = func(visible []row) changes {
		out := changes{}
		met := map[int32]bool{}
		for _, r := range visible {
			switch {
			case on.matches(&r):
				met[r.k] = true
				if !also.matches(&r) {
					continue
				}
				if deletes {
					out[r.id] = opt[row]{}
				} else {
					out[r.id] = some(set(r))
				}
			case bySource && r.x.ok && r.x.v%5 == 0:
				out[r.id] = opt[row]{}
			}
		}
		for i, k := range list {
			if inserts && !met[k] {
				out[source[i].id] = some(source[i])
			}
		}
		return out
	}
}

// severalReads looks at some rows to decide about others.
func (p *planner) severalReads(w *work) {
	w.operation = pick(p.d, "DELETE", "UPDATE", "MERGE", "a program's own")
	a, b, set := p.condition(), p.condition(), p.assignment()
	w.conds = []condition{a, b}
	how := p.d.IntN(3)
	w.does = func(visible []row) changes {
		out := changes{}
		var others int32
		for _, r := range visible {
			if b.matches(&r) {
				others++
			}
		}
		for _, r := range visible {
			switch in := a.matches(&r); {
			case in && how == 0 && others%2 == 0:
				out[r.id] = opt[row]{}
			case in && how == 1:
				r.x, r.by = some(others), w.name
				out[r.id] = some(r)
			case in && how == 2:
				out[r.id] = opt[row]{}
			case how == 2 && b.matches(&r):
				out[r.id] = some(set(r))
			}
		}
		return out
	}
}

// subquery compares rows with an average over the table itself.
func (p *planner) subquery(w *work) {
	w.operation = pick(p.d, "DELETE", "UPDATE")
	above, set := p.d.once(2), p.assignment()
	over, sql := condition{of: func(*row) tri { return yes }}, "(SELECT avg(x) FROM t)"
	if p.d.once(2) {
		over = p.condition()
		w.conds = []condition{over}
		sql = "(SELECT avg(x) FROM t WHERE " + over.sql + ")"
	} else if p.d.once(2) {
		w.whole = true
	}
	if above {
		w.opaque = []string{"x > " + sql}
	} else {
		w.opaque = []string{"x < " + sql + " - 5"}
	}
	deletes := w.operation == "DELETE"
	w.does = func(visible []row) changes {
		out := changes{}
		var sum, n int32
		for _, r := range visible {
			if over.matches(&r) && r.x.ok {
				sum, n = sum+r.x.v, n+1
			}
		}
		for _, r := range visible {
			if n == 0 || !r.x.ok || above && r.x.v*n <= sum || !above && r.x.v*n >= sum-5*n {
				continue
			}
			if deletes {
				out[r.id] = opt[row]{}
			} else {
				out[r.id] = some(set(r))
			}
		}
		return out
	}
}

// insertSelect appends a row about the rows that it reads.
func (p *planner) insertSelect(w *work) {
	w.operation = "WRITE"
	c := p.condition()
	w.conds = []condition{c}
	base := p.newRows(1)[0]
	w.does = func(visible []row) changes {
		r := base
		r.x = some[int32](0)
		for _, other := range visible {
			if c.matches(&other) {
				r.x.v++
				r.k = (r.k + other.k) % keys
			}
		}
		return puts(r)
	}
}

// filesOnly works on the rows of some files, without a predicate.
func (p *planner) filesOnly(w *work) {
	w.operation = pick(p.d, "UPDATE", "MERGE", "DELETE")
	paths := p.at.paths()
	if len(paths) == 0 {
		p.insert(w)
		return
	}
	w.files = []string{pick(p.d, paths...)}
	mine := map[int64]bool{}
	for _, r := range p.at.files[w.files[0]].live() {
		mine[r.id] = true
	}
	c, set := p.d.leaf(p.ids), p.assignment()
	w.does = func(visible []row) changes {
		out := changes{}
		for _, r := range visible {
			if mine[r.id] && c.of(&r) != no {
				out[r.id] = some(set(r))
			}
		}
		return out
	}
}

// restore takes the table back to an earlier version.
func (p *planner) restore(w *work) {
	if p.at.number == 0 {
		p.insert(w)
		return
	}
	target := p.world.versions[p.d.Int64N(p.at.number)]
	w.operation, w.whole = "RESTORE", true
	w.does = func(visible []row) changes {
		out := changes{}
		seen := map[int64]bool{}
		for _, r := range visible {
			seen[r.id] = true
			if was, ok := target.rows[r.id]; !ok {
				out[r.id] = opt[row]{}
			} else if was != r {
				out[r.id] = some(was)
			}
		}
		for id, r := range target.rows {
			if !seen[id] {
				out[id] = some(r)
			}
		}
		return out
	}
	p.restored = target.files
}

// undelete gives rows of one file back that were deleted since an earlier version.
func (p *planner) undelete(w *work) {
	type choice struct{ now, then *file }
	var choices []choice
	for _, path := range p.at.paths() {
		now := p.at.files[path]
		for _, v := range p.world.versions[:p.at.number] {
			if then := v.files[path]; then != nil && then.deleted.Cardinality() < now.deleted.Cardinality() && then.deleted.SubsetOf(now.deleted) {
				choices = append(choices, choice{now, then})
			}
		}
	}
	if len(choices) == 0 {
		p.delete(w)
		return
	}
	c := pick(p.d, choices...)
	back := changes{}
	var ids []int64
	for i := range c.now.deleted.AndNot(c.then.deleted).All() {
		r := c.now.rows[i]
		if _, elsewhere := p.at.rows[r.id]; elsewhere { // an update moved it to another file
			p.delete(w)
			return
		}
		back[r.id] = some(r)
		ids = append(ids, r.id)
	}
	w.operation = "RESTORE"
	w.conds = []condition{idIn(ids)}
	w.files = []string{c.now.path}
	w.does = func(visible []row) changes {
		out := maps.Clone(back)
		for _, r := range visible {
			delete(out, r.id)
		}
		return out
	}
	p.restored = maps.Clone(p.at.files)
	p.restored[c.now.path] = c.then
}

// optimize compacts files of one partition; some keep the rows' order and tell where the rows came from.
func (p *planner) optimize(w *work) {
	w.operation = "OPTIMIZE"
	w.does = func([]row) changes { return nil }
	p.dataChange = false
	paths := p.at.paths()
	p.d.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	groups := map[opt[int32]][]string{}
	for _, path := range paths {
		f := p.at.files[path]
		if len(f.live()) > 0 && len(groups[f.partition]) < 3 && !p.d.once(4) {
			groups[f.partition] = append(groups[f.partition], path)
		}
	}
	for i, part := range slices.SortedFunc(maps.Keys(groups), comparePartitions) {
		if i == 0 || p.d.once(3) {
			p.compact = append(p.compact, groups[part])
			w.files = append(w.files, groups[part]...)
		}
	}
	p.sorts = p.d.once(4)
}

// computeStats adds files again with statistics about the rows they have now.
func (p *planner) computeStats(w *work) {
	w.operation = "COMPUTE STATS"
	w.does = func([]row) changes { return nil }
	p.dataChange = false
	for _, path := range p.at.paths() {
		if p.d.once(5) || len(p.recompute) == 0 {
			p.recompute = append(p.recompute, path)
		}
	}
	if p.d.once(2) {
		w.files = p.recompute
	}
}

func (w *work) String() string { return fmt.Sprintf("%s (%s)", w.name, w.kind) }
