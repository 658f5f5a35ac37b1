package predicate

import (
	"errors"
	"testing"
)

// TestQualifiedNames: a name qualified by the table's alias is the table's, one qualified by anything else may stand for a
// column of another table where the query has some, and never quietly for one of this.
func TestQualifiedNames(t *testing.T) {
	table := testTable(t)
	for _, tt := range []struct {
		sql    string
		env    Env
		want   string
		class  string
		opaque string
	}{
		{sql: "t.i = 1", env: Env{Alias: "t"}, want: "i = 1"},
		{sql: "T.st.x = 1", env: Env{Alias: "t"}, want: "st.x = 1"},
		{sql: "st.x = 1", env: Env{Alias: "t", Joined: true}, want: "st.x = 1"},
		{sql: "st.i = 1", env: Env{Alias: "st"}, want: "i = 1"},
		{sql: "st.x = 1", env: Env{Alias: "st"}, want: "st.x = 1"},
		{sql: "t.i = 1", class: "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"},
		{sql: "t.nope = 1", env: Env{Alias: "t", Joined: true}, class: "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"},
		{sql: "nope = 1", env: Env{Joined: true}, class: "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"},
		{sql: "src.i = 1", env: Env{Alias: "t"}, class: "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"},
		{sql: "src.i", env: Env{Joined: true}, opaque: "src.i is a column of another table, which bounds nothing in this one"},
		{sql: "st.nope = 1", env: Env{Joined: true}, class: "FIELD_NOT_FOUND"},
	} {
		e, err := Parse(tt.sql, ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Bind(e, table, tt.env)
		var refused *BindError
		switch {
		case tt.class != "":
			if !errors.As(err, &refused) || refused.Class != tt.class && refused.Class != "UNRESOLVED_COLUMN.WITH_SUGGESTION" {
				t.Errorf("%s with %+v: %v, want %s", tt.sql, tt.env, err, tt.class)
			}
		case err != nil:
			t.Errorf("%s with %+v: %v", tt.sql, tt.env, err)
		case tt.opaque != "":
			if o, ok := p.Root.(*Opaque); !ok || o.Reason != tt.opaque {
				t.Errorf("%s with %+v: %v", tt.sql, tt.env, p.Root)
			}
		case p.Root.String() != tt.want:
			t.Errorf("%s with %+v: %s, want %s", tt.sql, tt.env, p.Root, tt.want)
		}
	}
}
