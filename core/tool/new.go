package tool

import (
	"context"

	"github.com/reveille-run/reveille/core"
)

// New makes a tool of a function, to be written where the tool is used: it has no
// error. What is wrong (a name that is none, an Args without a schema, a nil run) is
// the error of the registry or plugin that takes the tool in, which names it: see
// [Spec.Check]. The parameters are those of [Typed].
//
// What run returns is the result: a [Result] as it is, a string as by [Text], anything
// else as by [JSON]. Its error is an error result for the model; one wrapped by
// [Fatal] ends the run.
//
// A tool with a timeout, another delivery or a schema of its own is made by [Typed].
func New[Args, Out any](name, description string, run func(ctx context.Context, call Call, args Args) (Out, error)) Tool {
	var wrapped func(context.Context, Call, Args) (Result, error)
	if run != nil {
		wrapped = func(ctx context.Context, call Call, args Args) (Result, error) {
			out, err := run(ctx, call, args)
			if err != nil {
				return Result{}, err
			}
			return resultOf(out)
		}
	}
	return sound(newTyped(Spec{Name: name, Description: description}, wrapped))
}

// NewClient is New for a tool that has no code here, with the parameters of Args: see
// [Client].
func NewClient[Args any](name, description string) Tool {
	spec := Spec{Name: name, Description: description, Client: true}
	return sound(newTyped(spec, func(_ context.Context, call Call, _ Args) (Result, error) { return clientCall(name, call), nil }))
}

// sound keeps what is wrong with a tool for those who take it in.
func sound[Args any](t *typed[Args], err error) Tool {
	t.spec.err = err
	return t
}

// resultOf is a value as a result. The value counts, not Out: a function may return
// an any.
func resultOf(out any) (Result, error) {
	if r, ok := out.(Result); ok {
		return r, nil
	}
	return JSON(out)
}

// errUnsound is the error of a call of a tool that nobody should have taken in.
func errUnsound(err error) error {
	return core.Errorf(core.CodeInternal, "the tool was not made: %w", err)
}
