package colstats_test

import (
	"fmt"
	"log"

	"github.com/deltaskip/deltaskip/colstats"
	"github.com/deltaskip/deltaskip/schema"
)

// What do the statistics of some files prove about a column? The layout says which of them are read at all.
func ExampleBuilder() {
	table, err := schema.Parse(`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}`, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	id, err := table.Lookup("id")
	if err != nil {
		log.Fatal(err)
	}
	layout := &colstats.Layout{Table: table, Demands: []colstats.Demand{{Column: id, Bounds: true, Nulls: true}}}
	b := colstats.NewBuilder(layout, colstats.Options{})
	defer b.Close()
	for _, f := range []colstats.File{
		{Path: "a.parquet", Stats: `{"numRecords":10,"minValues":{"id":1},"maxValues":{"id":5},"nullCount":{"id":0}}`},
		{Path: "b.parquet"}, // without statistics nothing is proven
	} {
		if err := b.Append(&f); err != nil {
			log.Fatal(err)
		}
	}
	batch := b.Flush()
	defer batch.Release()
	facts := batch.Facts(0)
	for i := range batch.Len() {
		path, err := batch.Path(i)
		if err != nil {
			log.Fatal(err)
		}
		if colstats.IsSet(facts.Bounded, i) {
			fmt.Println(path, "has ids from", facts.Lower.ValueStr(i), "to", facts.Upper.ValueStr(i))
		} else {
			fmt.Println(path, "may have any id")
		}
	}
	// Output:
	// a.parquet has ids from 1 to 5
	// b.parquet may have any id
}
