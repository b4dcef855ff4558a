package tool

import (
	"fmt"
	"reflect"

	"github.com/reveille-run/reveille/core"
)

// A checker is an Args of [New] that has a check.
type checker interface{ Check() error }

// checkArgs asks the check of decoded arguments, whose receiver may be a value or a
// pointer; arguments without one are valid.
func checkArgs[Args any](args *Args) error {
	c, ok := any(args).(checker)
	if !ok && reflect.TypeFor[Args]().Kind() == reflect.Pointer { // of another kind *Args has all methods of Args
		c, ok = any(*args).(checker)
	}
	if !ok {
		return nil
	}
	return invalid(c.Check())
}

// InvalidArgument is what a check of arguments returns about one of them: the model
// reads its name, a path as in "stops[2].city", and what is wrong with it.
func InvalidArgument(name, format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, "property %q: %s", name, fmt.Sprintf(format, args...))
}

// invalid gives an error of a check its code. The text is the author's.
func invalid(err error) error {
	if err == nil || core.CodeOf(err) == core.CodeInvalid {
		return err
	}
	return core.Errorf(core.CodeInvalid, "%w", err)
}
