package checkpoint

import "github.com/apache/arrow-go/v18/parquet"

// SmallPages makes Write begin a new page every few rows, or no longer.
func SmallPages(small bool) {
	pageProperties = nil
	if small {
		pageProperties = []parquet.WriterProperty{parquet.WithDataPageSize(64), parquet.WithBatchSize(8), parquet.WithDictionaryDefault(false)}
	}
}
