package cli

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/deltaskip/deltaskip/interop"
	"github.com/deltaskip/deltaskip/predicate"
	"github.com/deltaskip/deltaskip/schema"
)

// A foreign predicate is one that another program wrote: the flags --where-json and --where-substrait.
type foreign struct{ json, substrait []string }

func (f *foreign) addTo(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.json, "where-json", nil, "predicate as JSON of Iceberg's REST catalog in `FILE`; - is standard input")
	flags.StringArrayVar(&f.substrait, "where-substrait", nil, "predicate as Substrait ExtendedExpression in `FILE`, such as PyArrow's to_substrait; - is standard input")
}

func (f *foreign) count() int { return len(f.json) + len(f.substrait) }

// read reads the predicates, those in JSON first.
func (f *foreign) read(t *schema.Table) (list []predicate.Expr, err error) {
	for _, format := range []struct {
		files []string
		parse func([]byte, *schema.Table) (predicate.Expr, error)
	}{{f.json, interop.FromJSON}, {f.substrait, interop.FromSubstrait}} {
		for _, file := range format.files {
			data, name, err := readInput(file)
			if err != nil {
				return nil, err
			}
			e, err := format.parse(data, t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// readInput reads a whole file that a flag names, but not more than a predicate may have.
func readInput(file string) (data []byte, name string, err error) {
	in, name, err := openInput(file)
	if err != nil {
		return nil, name, err
	}
	defer in.Close()
	if data, err = io.ReadAll(io.LimitReader(in, interop.MaxBytes+1)); err != nil {
		return nil, name, fmt.Errorf("%s: %w", name, err)
	}
	return data, name, nil
}
