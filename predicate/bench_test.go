package predicate

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkParseAndBind(b *testing.B) {
	table := testTable(b)
	list := make([]string, 10_000)
	for i := range list {
		list[i] = fmt.Sprint(i * 7)
	}
	for name, sql := range map[string]string{
		"shape=range":  "i >= 10 AND i < 20 AND s LIKE 'abc%' AND dt = '2024-02-29'",
		"shape=in10k":  "l IN (" + strings.Join(list, ", ") + ")",
		"shape=or10k":  "l = " + strings.Join(list, " OR l = "),
		"shape=nested": "NOT (i = 1 AND (l > 2.5 OR NOT (s IN ('a', 'b') AND coalesce(d, 0) < 1))) OR CASE WHEN bo THEN i ELSE l END > 3",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(sql)))
			b.ReportAllocs()
			for b.Loop() {
				e, err := Parse(sql, ParseOptions{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := Bind(e, table, Env{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
