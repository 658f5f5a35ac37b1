package predicate

import "strings"

// No filter may hold a call of these, whatever its arguments: Spark's error class, and the functions that it is for.
var rejectedCalls = map[string]string{
	"INVALID_WHERE_CONDITION": `any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
		array_agg avg bit_and bit_or bit_xor bitmap_construct_agg bool_and bool_or collect_list collect_set corr count count_if
		covar_pop covar_samp every first first_value hll_sketch_agg kll_sketch_agg_bigint kurtosis last last_value listagg max max_by
		mean median min min_by mode percentile percentile_approx regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
		regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum theta_sketch_agg try_avg try_sum
		var_pop var_samp variance`,
	"UNSUPPORTED_GROUPING_EXPRESSION":      "grouping grouping_id",
	"WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE":  "row_number rank dense_rank percent_rank cume_dist lag lead nth_value",
	"UNSUPPORTED_GENERATOR.OUTSIDE_SELECT": "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple",
}

func init() {
	for class, names := range rejectedCalls {
		for name := range strings.FieldsSeq(names) {
			register([]Function{{Name: name, Rejected: class, Reason: "it is none of a row"}}, nil)
		}
	}
}
