package interop_test

import (
	"fmt"

	"github.com/deltaskip/deltaskip/interop"
	"github.com/deltaskip/deltaskip/schema"
)

// In Iceberg a NULL is not equal to 5, so that the predicate keeps files with NULLs.
func ExampleFromJSON() {
	table, err := schema.Parse(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}`, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := interop.FromJSON([]byte(`{"type":"not-eq","term":"id","value":5}`), table)
	fmt.Println(e, err)
	// Output: (id IS NULL) OR (id <> 5L) <nil>
}
