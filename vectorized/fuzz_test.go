package vectorized

import (
	"errors"
	"slices"
	"testing"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/predicate"
)

// FuzzVerdicts takes any SQL text and any statistics from the parser to verdicts: none of it panics, and kernels and
// reference agree.
func FuzzVerdicts(f *testing.F) {
	const stats = `{"numRecords":3,"minValues":{"col-4":1,"col-7":-1.5,"col-11":"a","col-13":"2020-01-01","col-14":"2020-01-01T00:00:00.000Z","col-10":1.25},` +
		`"maxValues":{"col-4":9,"col-7":"NaN","col-11":"b","col-13":"2020-03-01","col-14":"2020-01-02T00:00:00.000Z","col-10":7},"nullCount":{"col-4":0,"col-7":1,"col-11":0,"col-13":3,"col-14":0,"col-10":0}}`
	for _, sql := range []string{
		"l < 5 AND s LIKE 'a%' ESCAPE '!'", "CASE WHEN bo THEN dt ELSE ts END > DATE'2020-01-01' + INTERVAL 1 DAY", "st.in.s IN ('1', NULL, 2.5e0)",
		"l BETWEEN -9223372036854775808 AND 1e2BD", "TRIM(LEADING 'x' FROM s) || r'\\n' = X'00'", "coalesce(nullif(i, 1), l)::decimal(38,10) <=> try_cast(s AS double)",
		"l IN (SELECT 1) -- x", "ch = 'a' AND i = 1 AND i + 1 > l", "year(ts) = 2020 OR p = 3 AND ps < 'x'", "NOT (d > 3 OR f IS NULL)", "rand() > 0.5 AND big * 2 = e",
		"NOT s IN ('a', NULL) OR s NOT LIKE 'a\\\\_%'", "l = i OR NOT (d <=> f) AND i2 BETWEEN by AND 5", "upper(substring(s, 1, 2)) >= 'AB' AND length(s2) < 3",
		"date_trunc('month', ts) = TIMESTAMP'2020-01-01 00:00:00' OR CAST(ts AS DATE) <> dt", "ts = tn OR ts2 < pt AND tn IS NOT NULL", "if(bo, e, big) * 1.5 > -0.01BD",
		"abs(l - 3) % 2 = 1 AND nullif(i, 5) IS DISTINCT FROM l", "st.in.s IS NULL = (vc = ch) OR lc = 'A'", "pd > DATE'2020-01-01' AND pe IN (1.25, 7) OR pf = double('NaN')",
		"greatest(f, d, -0.0D) > 9007199254740993 AND CAST(l AS DOUBLE) = 9007199254740992D", "coalesce(dt + INTERVAL 1 MONTH, pd) < '2020-03-31'", "bin = X'61' OR startswith(s, 'a') AND endswith(s, 'b')",
	} {
		f.Add(sql, stats, "3")
		f.Add(sql, `{"numRecords":0}`, "")
	}
	f.Fuzz(func(t *testing.T, sql, stats, partition string) {
		e, err := predicate.Parse(sql, predicate.ParseOptions{MaxLength: 1 << 12})
		if err != nil {
			return
		}
		bound, err := predicate.Bind(e, writtenTable, predicate.Env{})
		if err != nil {
			return
		}
		var panicked *PanicError
		p, err := Compile([]*predicate.Predicate{bound}, Options{Verdicts: true})
		if errors.As(err, &panicked) {
			t.Fatalf("%v\n%s", err, panicked.Stack)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range p.Unusable() {
			if u.Conjunct == "" || u.Reason == "" {
				t.Errorf("unusable, but neither what nor why: %+v", u)
			}
		}
		b := colstats.NewBuilder(p.Layout(), colstats.Options{})
		values := map[string]*string{}
		for _, c := range writtenTable.PartitionColumns {
			values[writtenColumn(c).Physical[0]] = &partition
		}
		if err := b.Append(&colstats.File{Stats: stats, PartitionValues: values}); err != nil {
			t.Fatal(err)
		}
		batch := b.Flush()
		defer batch.Release()
		var answers [2][]Verdict
		for i, reference := range []bool{false, true} {
			q := *p
			q.options.Reference = reference
			answers[i] = make([]Verdict, 1)
			err := q.Verdicts(answers[i], batch, new(Scratch))
			if errors.As(err, &panicked) {
				t.Fatalf("%v\n%s", err, panicked.Stack)
			}
		}
		if !slices.Equal(answers[0], answers[1]) {
			t.Errorf("kernels say %v, the reference %v", answers[0], answers[1])
		}
	})
}
