package conflict

// onlyRearranges reports whether a winner moved rows from file to file and did nothing else to data: it adds files and removes
// files, says of all of them that no data changed, and is of a kind that does so, or records what it did with rows. The flags
// alone excuse nothing: people set dataChange=false for other purposes.
func (w *winner) onlyRearranges(f *changedFiles) bool {
	if f.ambiguous || len(w.CDC) > 0 || !w.rearranged() {
		return false
	}
	switch w.operation() {
	case "OPTIMIZE", "REORG":
		return true
	}
	return w.Info != nil && w.Info.Get(compactionKey) != nil
}

// unaffectedBy reports whether a winner that only rearranged rows has nothing to do with the loser: the loser brings back none
// of its files, and only adds files, or has read and removes none of them.
func (t *candidate) unaffectedBy(f *changedFiles) bool {
	return !t.bringsBack(f) && (t.onlyAdds() || !t.touches(f))
}

// bringsBack reports whether the loser adds a file that the winner removed: a path that it knew. Its rows would be there twice.
func (t *candidate) bringsBack(f *changedFiles) bool {
	for path := range f.removes {
		if t.read.adds[path] {
			return true
		}
	}
	return false
}

func (t *candidate) onlyAdds() bool { return len(t.read.removes) == 0 }

// touches reports whether the loser has read or removes a file that the winner removed, as far as it tells.
func (t *candidate) touches(f *changedFiles) bool {
	if t.txn.ReadWholeTable || !t.txn.readsSomething() && len(t.read.removes) == 0 {
		return true
	}
	for path := range f.removes {
		if t.read.files[path] != nil || t.read.removes[path] != nil {
			return true
		}
	}
	return false
}
