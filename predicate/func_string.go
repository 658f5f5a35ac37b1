package predicate

import (
	"strings"

	"github.com/deltaskip/deltaskip/schema"
)

var stringFunctions = []Function{
	{
		Name: "upper", NullIn: true,
		Resolve: signature(schema.String, 0, exactly(schema.String)),
		Eval: func(_ *Env, a []Value, _ schema.Type) (Value, error) {
			return StringOf(strings.ToUpper(a[0].S)), nil
		},
	},
}

var stringAliases = map[string]string{"ucase": "upper"}
