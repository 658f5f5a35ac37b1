package checkpoint

import (
	"github.com/deltaskip/deltaskip/internal/leaf"
	"github.com/deltaskip/deltaskip/schema"
)

// A filePlan says which leaves of a file a scan wants. Leaves that the file lacks, or that cannot be read row by row, are nil.
type filePlan struct {
	part *part
	path *leaf.Node

	storageType, pathOrInlineDV, offset *leaf.Node // of the deletion vector

	numRecords, stats *leaf.Node
	demands           []demandPlan
	key, value        *leaf.Node // of the map partitionValues

	witnesses []*leaf.Node // leaves that every add has; see groupPlan.witness
}

// A demandPlan has the leaves of one demanded column.
type demandPlan struct {
	column          *schema.Column
	min, max, nulls *leaf.Node // of a data column
	parsed          *leaf.Node // of a partition column
}

// A groupPlan adds what the footer says about one row group.
type groupPlan struct {
	*filePlan
	group  int
	rows   int64
	chunks map[*leaf.Node]leaf.Chunk

	// adds is how many rows hold an add, -1 when unknown.
	adds int64
	// witness is a leaf that is there exactly where a row holds an add. It is add.path, unless a cheaper one has as many
	// values. Nil when all rows hold adds.
	witness *leaf.Node
}

// plan looks up what the scan needs in each row group that may hold adds.
func (p *part) plan(s *Scan) ([]*groupPlan, error) {
	add := p.Root.Child("add")
	if add == nil {
		return nil, nil
	}
	flat := func(path ...string) *leaf.Node {
		if n := add.Find(path...); n.FlatLeaf() {
			return n
		}
		return nil
	}
	f := &filePlan{
		part:           p,
		path:           flat("path"),
		storageType:    flat("deletionVector", "storageType"),
		pathOrInlineDV: flat("deletionVector", "pathOrInlineDv"),
		offset:         flat("deletionVector", "offset"),
		numRecords:     flat("stats_parsed", "numRecords"),
		stats:          flat("stats"),
		demands:        make([]demandPlan, len(s.Layout.Demands)),
	}
	if f.path == nil || add.Repeated {
		return nil, p.fail(-1, add, corrupt("adds without paths"))
	}
	needsStats, needsMap := false, false
	for i, d := range s.Layout.Demands {
		c := d.Column
		plan := &f.demands[i]
		plan.column = c
		if c.Partition {
			plan.parsed = flat("partitionValues_parsed", c.Physical[0])
			needsMap = true
			continue
		}
		needsStats = true
		plan.nulls = flat(append([]string{"stats_parsed", "nullCount"}, c.Physical...)...)
		if d.Bounds {
			plan.min = flat(append([]string{"stats_parsed", "minValues"}, c.Physical...)...)
			plan.max = flat(append([]string{"stats_parsed", "maxValues"}, c.Physical...)...)
		}
	}
	if !needsStats {
		f.numRecords, f.stats = nil, nil
	}
	if n := add.Child("partitionValues"); needsMap && n != nil {
		if again := repeating(n); again != nil && len(again.Children) == 2 {
			if k, v := again.Children[0], again.Children[1]; k.Leaf >= 0 && v.Leaf >= 0 && !k.Repeated && !v.Repeated {
				f.key, f.value = k, v
			}
		}
	}
	for _, n := range []*leaf.Node{f.numRecords, flat("dataChange"), flat("size"), flat("modificationTime")} {
		if n != nil {
			f.witnesses = append(f.witnesses, n)
		}
	}
	var groups []*groupPlan
	for group := range p.RowGroups() {
		g, err := f.planGroup(group, s.Seen != nil)
		if err != nil {
			return nil, p.fail(group, nil, err)
		}
		if g.adds != 0 && g.rows > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// leaves lists the leaves that the scan may read.
func (f *filePlan) leaves() []*leaf.Node {
	nodes := append([]*leaf.Node{
		f.path, f.storageType, f.pathOrInlineDV, f.offset, f.numRecords, f.stats, f.key, f.value,
	}, f.witnesses...)
	for _, d := range f.demands {
		nodes = append(nodes, d.min, d.max, d.nulls, d.parsed)
	}
	there := nodes[:0]
	for _, n := range nodes {
		if n != nil {
			there = append(there, n)
		}
	}
	return there
}

func (f *filePlan) planGroup(group int, needsPaths bool) (*groupPlan, error) {
	nodes := f.leaves()
	chunks, err := f.part.Chunks(group, nodes...)
	if err != nil {
		return nil, err
	}
	g := &groupPlan{filePlan: f, group: group, rows: f.part.GroupRows(group), chunks: make(map[*leaf.Node]leaf.Chunk, len(nodes)), adds: -1}
	for i, n := range nodes {
		g.chunks[n] = chunks[i]
	}
	g.witness = f.path
	nulls := g.nulls(f.path)
	if nulls < 0 {
		return g, nil
	}
	if g.adds = g.rows - nulls; g.adds == g.rows {
		g.witness = nil
		return g, nil
	}
	for _, n := range f.witnesses {
		if !needsPaths && g.complete(n) {
			g.witness = n
			break
		}
	}
	return g, nil
}

// mostAdds returns how many adds the group holds, or how many rows if that is unknown.
func (g *groupPlan) mostAdds() int64 {
	if g.adds < 0 {
		return g.rows
	}
	return g.adds
}

// nulls returns how many rows have no value of a leaf, -1 when unknown.
func (g *groupPlan) nulls(n *leaf.Node) int64 {
	if n.Def == 0 {
		return 0
	}
	return g.chunks[n].Nulls
}

// complete reports that no add of the group lacks the leaf.
func (g *groupPlan) complete(n *leaf.Node) bool {
	return n != nil && g.adds >= 0 && g.nulls(n) == g.rows-g.adds
}

// trustParsed says whether a partition column's typed values may be used. A timestamp's may not, where there is text: the text may
// lack a zone, and whoever wrote the checkpoint may have put in another one than the reader would.
func (g *groupPlan) trustParsed(d *demandPlan) bool {
	return d.parsed != nil && (d.column.Type.Kind != schema.Timestamp || g.key == nil)
}

// readsMap reports that every batch needs the map partitionValues. It has no fixed number of entries a row, so that there is no
// way into its middle.
func (g *groupPlan) readsMap() bool {
	for i := range g.demands {
		if d := &g.demands[i]; d.column.Partition && g.key != nil && !g.trustParsed(d) {
			return true
		}
	}
	return false
}
