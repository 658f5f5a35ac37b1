package predicate

import "errors"

// ErrorClass returns Spark's class of an error that is about a predicate: a [*SyntaxError], [*BindError] or [*EvalError],
// which may be wrapped. Of other errors it is empty.
func ErrorClass(err error) string {
	var syntax *SyntaxError
	var bind *BindError
	var eval *EvalError
	switch {
	case errors.As(err, &syntax):
		return syntax.Class
	case errors.As(err, &bind):
		return bind.Class
	case errors.As(err, &eval):
		return eval.Class
	}
	return ""
}
