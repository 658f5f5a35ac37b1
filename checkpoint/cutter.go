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
	var left []*groupPlan
	for i, g := range groups {
		k.s.Report.RowGroups.Add(1)
		if keep == nil || colstats.IsSet(keep, i) {
			if !k.cut(k.s, g, 0, g.rows) {
				return false, nil
			}
			continue
		}
		k.s.Report.Pruned.Add(1)
		k.s.Report.AddsLeft.Add(g.mostAdds())
		if k.s.Left == nil {
			continue
		}
		if left == nil {
			if left, err = p.plan(k.leftScan()); err != nil {
				return false, err
			}
		}
		if !k.pass(left[i], 0, g.rows) {
			return false, nil
		}
	}
	return true, nil
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

// pass yields the pieces of some rows of a group for Scan.Left.
func (k *cutter) pass(g *groupPlan, from, to int64) bool {
	if known := g.adds >= 0 && to-from == g.rows || g.adds == g.rows; known && k.s.Seen == nil && len(k.left.Layout.Demands) == 0 {
		return k.yield(piece{scan: k.left, group: g, left: true, adds: min(g.adds, to-from)}, nil)
	}
	return k.cut(k.left, g, from, to)
}
