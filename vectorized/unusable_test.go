package vectorized

import "testing"

func TestUnusable(t *testing.T) {
	tests := []struct{ sql, conjunct, reason string }{
		{sql: "l < 5"},
		{sql: "l IS NULL AND bin IS NOT NULL"},
		{sql: "length(s) = 3"},
		{sql: "l = l2 AND l + l2 > 5"},
		{sql: "p = 3 AND ps LIKE 'a%'"},
		{sql: "l < 5 OR d > 3"},
		{"bin = X'00' AND l < 5", "bin = X'00'", "bin: writers disagree on how to write bounds of binary values"},
		{"l < 5 AND l IN (SELECT 1)", "l IN (SELECT 1)", "a subquery is evaluated by the engine that runs it"},
		{"l < 5 OR length(bin) = 3", "(l < 5L) OR (length(bin) = 3)", "bin: writers disagree on how to write bounds of binary values"},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			got := mustCompile(t, Options{}, tt.sql).Unusable()
			switch {
			case tt.conjunct == "" && len(got) == 0:
			case len(got) != 1:
				t.Errorf("got %+v, want %q", got, tt.conjunct)
			case got[0].Reason != tt.reason || got[0].Conjunct != tt.conjunct:
				t.Errorf("got %q: %q, want %q: %q", got[0].Conjunct, got[0].Reason, tt.conjunct, tt.reason)
			}
		})
	}
}
