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

	nodes []*leaf.Node       // all of the above
	slots map[*leaf.Node]int // positions in nodes
	seen  bool               // paths are needed: somebody asks which files were seen
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
	chunks []leaf.Chunk // of filePlan.nodes

	// adds is how many rows hold an add, -1 when unknown.
	adds int64
	// witness is a leaf that is there exactly where a row holds an add. It is add.path, unless a cheaper one has as many
	// values. Nil when all rows hold adds.
	witness *leaf.Node
}

// plan looks up what the scan needs. It is nil for a file without adds.
func (p *part) plan(s *Scan) (*filePlan, error) {
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
		slots:          map[*leaf.Node]int{},
		seen:           s.Seen != nil,
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
	f.listNodes()
	return f, nil
}

// listNodes lists the leaves that the scan may read.
func (f *filePlan) listNodes() {
	all := append([]*leaf.Node{
		f.path, f.storageType, f.pathOrInlineDV, f.offset, f.numRecords, f.stats, f.key, f.value,
	}, f.witnesses...)
	for _, d := range f.demands {
		all = append(all, d.min, d.max, d.nulls, d.parsed)
	}
	for _, n := range all {
		if _, listed := f.slots[n]; n != nil && !listed {
			f.slots[n] = len(f.nodes)
			f.nodes = append(f.nodes, n)
		}
	}
}

// groups plans those of some row groups that may hold adds.
func (f *filePlan) groups(from, to int) ([]*groupPlan, error) {
	groups := make([]*groupPlan, 0, to-from)
	for group := from; group < to; group++ {
		if f.part.GroupRows(group) == 0 {
			continue
		}
		g, err := f.group(group)
		if err != nil {
			return nil, f.part.fail(group, nil, err)
		}
		if g.adds != 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func (f *filePlan) group(group int) (*groupPlan, error) {
	chunks, err := f.part.Chunks(group, f.nodes...)
	if err != nil {
		return nil, err
	}
	g := &groupPlan{filePlan: f, group: group, rows: f.part.GroupRows(group), chunks: chunks, adds: -1}
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
		if !f.seen && g.complete(n) {
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

// chunk returns what the footer says of one of filePlan.nodes.
func (g *groupPlan) chunk(n *leaf.Node) leaf.Chunk { return g.chunks[g.slots[n]] }

// nulls returns how many rows have no value of a leaf, -1 when unknown.
func (g *groupPlan) nulls(n *leaf.Node) int64 {
	if n.Def == 0 {
		return 0
	}
	return g.chunks[g.slots[n]].Nulls
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
