package conflict

import (
	"strconv"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/internal/jsonscan"
)

// rebaseTypeWidening moves the type changes that the loser's own metadata dates to the winner's version on by one: that is
// the version they will take effect in. Source: Delta protocol, "Type Widening", and its preview, which wrote tableVersion.
func rebaseTypeWidening(c *candidate, w *winner) error {
	own := first[*action.Metadata](c.actions)
	if own == nil || !enabled(own, propTypeWidening) {
		return nil
	}
	moved, changed := moveTypeChanges(own.SchemaString, w.Version, w.Version+1)
	if !changed {
		return nil
	}
	updated := *own
	updated.SchemaString = moved
	c.metadata = &updated
	c.rewrite(func(a action.Action) action.Action {
		if a == action.Action(own) {
			return &updated
		}
		return a
	})
	return nil
}

// moveTypeChanges replaces the tableVersion was of type changes by now, wherever in a schema a field has them.
func moveTypeChanges(schemaString string, was, now int64) (moved string, changed bool) {
	data := []byte(schemaString)
	var out []byte
	from := 0
	var walk func(at int, inChange bool)
	walk = func(at int, inChange bool) {
		switch data[at] {
		case '[':
			jsonscan.Array(data, at, func(start, _ int) error { walk(start, inChange); return nil })
		case '{':
			jsonscan.Object(data, at, func(key []byte, start, end int) error {
				if inChange && string(key) == "tableVersion" && string(data[start:end]) == strconv.FormatInt(was, 10) {
					out = strconv.AppendInt(append(out, data[from:start]...), now, 10)
					from = end
				} else {
					walk(start, string(key) == "delta.typeChanges")
				}
				return nil
			})
		}
	}
	text, err := jsonscan.Text(data)
	if err != nil || len(text) == 0 {
		return schemaString, false // unreadable: nothing here is a type change
	}
	walk(jsonscan.Space(data, 0), false)
	if from == 0 {
		return schemaString, false
	}
	return string(append(out, data[from:]...)), true
}
