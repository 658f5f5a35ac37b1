package schema

import (
	"fmt"
	"strings"
	"testing"
)

func TestStatisticsColumns(t *testing.T) {
	field := func(name, typ string) string {
		return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{}}`, name, typ)
	}
	structure := func(fields ...string) string {
		return `{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`
	}
	text := structure(field("p", `"string"`), field("a", `"long"`), field("s", structure(field("x", `"long"`), field("y.z", `"string"`))),
		field("m", `{"type":"array","elementType":"long","containsNull":true}`), field("b", `"date"`))
	for _, tt := range []struct {
		name, key, value string
		want             string
	}{
		{name: "all of a small table but its partition columns", want: "a s.x s.`y.z` m b"},
		{name: "the first two", key: "delta.dataSkippingNumIndexedCols", value: "2", want: "a s.x"},
		{name: "none", key: "delta.dataSkippingNumIndexedCols", value: "0"},
		{name: "all", key: "delta.dataSkippingNumIndexedCols", value: "-1", want: "a s.x s.`y.z` m b"},
		{name: "named", key: "delta.dataSkippingStatsColumns", value: "b, s.`y.z` ,nope", want: "s.`y.z` b"},
		{name: "a named struct is all its fields", key: "delta.dataSkippingStatsColumns", value: "S", want: "s.x s.`y.z`"},
		{name: "named, but none", key: "delta.dataSkippingStatsColumns", value: "", want: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table, err := Parse(text, []string{"p"}, map[string]string{tt.key: tt.value})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range table.StatisticsColumns() {
				got = append(got, c.String())
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}
