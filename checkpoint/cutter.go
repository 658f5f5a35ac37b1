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

	leftFile  *filePlan  // the file at hand, in left; nil until it is needed
	leftGroup *groupPlan // the row group of it that was needed last
}

// cutFile yields the pieces of a file: those in which an add may survive, and those for Scan.Left. What its footer says is read
// for a few row groups first and for ever more of them, so that the first answer need not wait for the last row group.
func (k *cutter) cutFile(p *part) (more bool, err error) {
	f, err := p.plan(k.s)
	if f == nil || err != nil {
		return err == nil, err
	}
	k.leftFile, k.leftGroup = nil, nil
	for from, n := 0, 1; from < p.RowGroups(); from, n = from+n, min(n*pieceGrows, colstats.MaxBatchLen) {
		groups, err := f.groups(from, min(from+n, p.RowGroups()))
		if err != nil {
			return false, err
		}
		keep, err := p.prune(k.s, groups)
		if err != nil {
			return false, err
		}
		for i, g := range groups {
			k.s.Report.RowGroups.Add(1)
			if keep == nil || colstats.IsSet(keep, i) {
				more, err = k.cutGroup(g)
			} else {
				k.s.Report.Pruned.Add(1)
				more, err = k.pass(g, 0, g.rows)
			}
			if err != nil || !more {
				return false, err
			}
		}
	}
	return true, nil
}

// cutGroup yields the pieces of a row group that is not pruned as a whole.
func (k *cutter) cutGroup(g *groupPlan) (more bool, err error) {
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
			more, err = k.pass(g, from, to)
		}
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// pass leaves out some rows of a row group. It yields their pieces for Scan.Left.
func (k *cutter) pass(g *groupPlan, from, to int64) (more bool, err error) {
	adds := min(g.mostAdds(), to-from)
	k.s.Report.AddsLeft.Add(adds)
	if k.s.Left == nil {
		return true, nil
	}
	if k.leftFile == nil {
		if k.leftFile, err = g.part.plan(k.leftScan()); err != nil {
			return false, err
		}
	}
	if k.leftGroup == nil || k.leftGroup.group != g.group {
		if k.leftGroup, err = k.leftFile.group(g.group); err != nil {
			return false, g.part.fail(g.group, nil, err)
		}
	}
	known := g.adds >= 0 && to-from == g.rows || g.adds == g.rows
	if known && k.s.Seen == nil && len(k.left.Layout.Demands) == 0 {
		return k.yield(piece{scan: k.left, group: k.leftGroup, left: true, adds: adds}, nil), nil
	}
	return k.cut(k.left, k.leftGroup, from, to), nil
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
