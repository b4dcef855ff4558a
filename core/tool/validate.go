package tool

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/reveille-run/reveille/core"
)

// A checker is an Args of [Typed] with a check of its own.
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

// Validate returns the tool with one more check of its arguments, which follows the
// tool's own and sees only what passed that. Like an Args with a method Check, it
// must not act, and its error is the model's to mend: see [InvalidArgument]. It is
// for checks that need more than the arguments, such as a list of the cities that
// there are. A nil check adds nothing.
func Validate[Args any](t Tool, check func(args Args) error) Tool {
	if check == nil {
		return t
	}
	return validated[Args]{t, check}
}

type validated[Args any] struct {
	Tool
	check func(args Args) error
}

// Check implements Tool.
func (v validated[Args]) Check(arguments json.RawMessage) error {
	if err := v.Tool.Check(arguments); err != nil {
		return err
	}
	var args Args
	if err := json.Unmarshal(orEmpty(arguments), &args); err != nil {
		return undecodable(err)
	}
	return invalid(v.check(args))
}

// InvalidArgument is what a check of arguments returns about one of them: the model
// reads its name, a path as in "stops[2].city", and what is wrong with it.
func InvalidArgument(name, format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, "property %q: %s", name, fmt.Sprintf(format, args...))
}

// invalid gives an error of a check its code. What it says is the author's.
func invalid(err error) error {
	if err == nil || core.CodeOf(err) == core.CodeInvalid {
		return err
	}
	return core.Errorf(core.CodeInvalid, "%w", err)
}
