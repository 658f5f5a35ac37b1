package predicate_test

import (
	"fmt"
	"log"

	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

func Example() {
	table, err := schema.Parse(`{"type":"struct","fields":[
		{"name":"id","type":"long"},{"name":"day","type":"date"},{"name":"site","type":"string"}]}`, []string{"day"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	e, err := predicate.Parse("ID < '50' AND day = '2024-02-29' AND site LIKE 'eu-%'", predicate.ParseOptions{})
	if err != nil {
		log.Fatal(err)
	}
	p, err := predicate.Bind(e, table, predicate.Env{})
	if err != nil {
		log.Fatal(err)
	}
	partition, data := p.Split()
	fmt.Println(partition.SQL)
	fmt.Println(data.SQL)
	// Output:
	// day = DATE'2024-02-29'
	// (id < 50L) AND (site LIKE 'eu-%')
}

// A syntax error points at the column.
func ExampleParse_error() {
	_, err := predicate.Parse("id < 50 AND site IN ()", predicate.ParseOptions{})
	fmt.Println(err)
	// Output:
	// predicate: syntax error at line 1, column 22: expected an expression, found ")"
	//   id < 50 AND site IN ()
	//                        ^
}
