package predicate

import (
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

// Functions that Spark knows and this engine does not evaluate.

func opaqueFunctions() []Function {
	var functions []Function
	add := func(names string, f Function) {
		for _, name := range strings.Fields(names) {
			f.Name = name
			functions = append(functions, f)
		}
	}
	typed := func(k schema.Kind) resolveFunc {
		return func([]Expr) ([]schema.Type, schema.Type, error) { return nil, schema.Type{Kind: k}, nil }
	}

	volatile := Function{Reason: "its value may differ from row to row and from run to run", Volatile: true}
	for k, names := range map[schema.Kind]string{
		schema.Double:  "rand random randn",
		schema.String:  "uuid randstr",
		schema.Long:    "monotonically_increasing_id input_file_block_start input_file_block_length",
		schema.Integer: "spark_partition_id",
		schema.Invalid: "shuffle uniform java_method reflect try_reflect",
	} {
		if volatile.Resolve = typed(k); k == schema.Invalid {
			volatile.Resolve = nil
		}
		add(names, volatile)
	}
	volatile.Reason, volatile.Resolve = "the file that a row is read from is known to the reader only", typed(schema.String)
	add("input_file_name", volatile)
	volatile.Reason = "it depends on the session that runs the query"
	add("current_user session_user user current_catalog current_database current_schema current_timezone version", volatile)
	volatile.Resolve = nil
	add("current_time", volatile)
	volatile.Reason, volatile.Resolve = "it raises errors", typed(schema.Void)
	add("assert_true raise_error", volatile)

	for reason, names := range map[string]string{
		"functions of arrays, maps and structs are not evaluated": `array array_append array_compact array_contains array_distinct
			array_except array_insert array_intersect array_join array_max array_min array_position array_prepend array_remove
			array_repeat array_size array_sort array_union arrays_overlap arrays_zip cardinality element_at flatten get map
			map_concat map_contains_key map_entries map_from_arrays map_from_entries map_keys map_values named_struct
			regexp_extract_all sentences sequence size slice sort_array split str_to_map struct try_element_at`,
		"functions that take lambdas are not evaluated": `aggregate exists filter forall map_filter map_zip_with reduce transform
			transform_keys transform_values zip_with`,
		"documents inside values are not read": `from_avro from_csv from_json from_protobuf from_xml get_json_object
			json_array_length json_object_keys schema_of_avro schema_of_csv schema_of_json schema_of_xml to_avro to_csv to_json
			to_protobuf to_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short
			xpath_string`,
		"variants are not evaluated": `is_variant_null parse_json schema_of_variant to_variant_object try_parse_json
			try_variant_get variant_get`,
		"sketches and bitmaps are not evaluated": `approx_top_k_estimate bitmap_bit_position bitmap_bucket_number bitmap_count
			hll_sketch_estimate hll_union kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
			kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
			kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint
			kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double
			kll_sketch_to_string_float theta_difference theta_intersection theta_sketch_estimate theta_union`,
		"encryption is not evaluated": "aes_decrypt aes_encrypt try_aes_decrypt",
		"trigonometry is not evaluated": `acos acosh asin asinh atan atan2 atanh cos cosh cot csc degrees hypot radians sec sin sinh
			tan tanh`,
		"geography is not evaluated": "st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid",
		"formats of numbers, character sets and URLs are not evaluated": `encode format_number format_string mask parse_url printf
			to_binary to_char to_number to_varchar try_parse_url try_to_binary try_to_number`,
		"intervals and times of day are not evaluated": `make_dt_interval make_interval make_time make_ym_interval time time_diff
			time_trunc to_time try_make_interval try_to_time`,
		"time windows are not evaluated": "session_window window window_time",
	} {
		add(names, Function{Reason: reason})
	}

	for class, names := range map[string]string{
		"INVALID_WHERE_CONDITION": `any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
			approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and
			bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every first first_value
			histogram_numeric hll_sketch_agg hll_union_agg kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
			kurtosis last last_value listagg max max_by mean median min min_by mode percentile percentile_approx percentile_cont
			percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
			schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg
			theta_sketch_agg theta_union_agg try_avg try_sum var_pop var_samp variance`,
		"UNSUPPORTED_GENERATOR.OUTSIDE_SELECT": `explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer
			stack`,
		"WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE": `cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number`,
		"UNSUPPORTED_GROUPING_EXPRESSION":     "grouping grouping_id",
		"UNRESOLVED_ROUTINE":                  "collations python_worker_logs range sql_keywords variant_explode variant_explode_outer",
	} {
		add(names, Function{Rejected: class, Reason: "it is not for filters"})
	}
	return functions
}
