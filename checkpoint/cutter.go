package checkpoint

import (
	"github.com/deltaskip/deltaskip/colstats"
)

// A cutter cuts files into pieces.
type cutter struct {
	s     *Scan
	left  *Scan // what of s.Left is one scan more; nil until it is needed
	size  int64 // rows of the next piece
	yield func(piece, error) bool

	leftGroups []*groupPlan // of the file at hand, in left; nil until they are needed
}

// cutFile yields the pieces of a file: those in which an add may survive, and those for Scan.Left.
func (k *cutter) cutFile(p *part) (more bool, err error) {
	groups, err := p.plan(k.s)
	if err != nil {
		return false, err
	}
	keep, err := p.prune(k.s, groups)
	if err != nil {
		return false, err
	}
	k.leftGroups = nil
	for i, g := range groups {
		k.s.Report.RowGroups.Add(1)
		if keep == nil || colstats.IsSet(keep, i) {
			more, err = k.cutGroup(g, i)
		} else {
			k.s.Report.Pruned.Add(1)
			more, err = k.pass(g, i, 0, g.rows)
		}
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// cutGroup yields the pieces of row group i of those planned, which is not pruned as a whole.
func (k *cutter) cutGroup(g *groupPlan, i int) (more bool, err error) {
	regions, keep, err := g.part.prunePages(k.s, g)
	if err != nil || regions == nil {
		return err == nil && k.cut(k.s, g, 0, g.rows), err
	}
	for at := 0; at < len(regions); {
		from, kept := regions[at].from, colstats.IsSet(keep, at)
		for at < len(regions) && colstats.IsSet(keep, at) == kept {
			at++
		}
		to := regions[at-1].to
		if kept {
			more = k.cut(k.s, g, from, to)
		} else {
			k.s.Report.RowsPruned.Add(to - from)
			more, err = k.pass(g, i, from, to)
		}
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// pass leaves out some rows of row group i of those planned. It yields their pieces for Scan.Left.
func (k *cutter) pass(g *groupPlan, i int, from, to int64) (more bool, err error) {
	adds := min(g.mostAdds(), to-from)
	k.s.Report.AddsLeft.Add(adds)
	if k.s.Left == nil {
		return true, nil
	}
	if k.leftGroups == nil {
		if k.leftGroups, err = g.part.plan(k.leftScan()); err != nil {
			return false, err
		}
	}
	known := g.adds >= 0 && to-from == g.rows || g.adds == g.rows
	if known && k.s.Seen == nil && len(k.left.Layout.Demands) == 0 {
		return k.yield(piece{scan: k.left, group: k.leftGroups[i], left: true, adds: adds}, nil), nil
	}
	return k.cut(k.left, k.leftGroups[i], from, to), nil
}

// leftScan returns the scan that reads what Scan.Left wants.
func (k *cutter) leftScan() *Scan {
	if k.left == nil {
		k.left = &Scan{Layout: k.s.Left.Layout, Stats: k.s.Stats, Seen: k.s.Seen, Report: k.s.Report}
		if k.left.Layout == nil {
			k.left.Layout = &colstats.Layout{Table: k.s.Layout.Table}
		}
	}
	return k.left
}

// cut yields the pieces of some rows of a group.
func (k *cutter) cut(s *Scan, g *groupPlan, from, to int64) bool {
	for from < to {
		end := min(from+k.size, to)
		if g.readsMap() {
			end = to
		}
		if !k.yield(piece{scan: s, group: g, from: from, to: end, left: s != k.s}, nil) {
			return false
		}
		from, k.size = end, min(k.size*pieceGrows, lastPiece)
	}
	return true
}
