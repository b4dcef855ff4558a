package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
)

// New makes a tool of a function. It returns no error, so that a tool can be written where
// it is used: an invalid name, an Args without a schema, or a nil run is an error of the
// registry or plugin that admits the tool, and names it; see [Spec.Check].
//
// If the spec has no Parameters, their schema is inferred from Args, a struct or a
// pointer to one, which is never nil then: a field is required unless it is omitempty or
// omitzero, its jsonschema tag describes it, and no other property is allowed. For rules
// that a schema cannot express, give Args a method Check() error: it is called with
// arguments that passed the schema, before any gate; see [InvalidArgument].
//
// The value that run returns is the result, as by [NewResult]. Its error is an error result
// for the model; one wrapped by [Fatal] ends the run.
func New[Args, Out any](spec Spec, run func(ctx context.Context, call Call, args Args) (Out, error)) Tool {
	t := &typed[Args]{spec: spec, strict: spec.Parameters != nil}
	if run != nil {
		t.run = func(ctx context.Context, call Call, args Args) (Result, error) {
			out, err := run(ctx, call, args)
			if err != nil {
				return Result{}, err
			}
			return NewResult(out), nil
		}
	}
	if spec.Client {
		return t.unsound(fmt.Errorf("tool %q has a function, but Client is set in its spec: NewClient makes a tool that the client runs", spec.Name))
	}
	return t.build()
}

// NewClient makes a tool that has no code here: the client runs it. A call of it waits,
// and the client's output, which comes as a decision, is its result. Parameters and
// errors are those of [New]; if the spec has Parameters, Args need not have their fields.
func NewClient[Args any](spec Spec) Tool {
	spec.Client = true
	t := &typed[Args]{spec: spec}
	t.run = func(_ context.Context, call Call, _ Args) (Result, error) {
		return Suspended(core.TicketRequest{
			Action:     "tool:" + spec.Name,
			Parameters: orEmpty(call.Arguments), // as the model wrote them: Args may round large numbers
			Mode:       core.ResumeAsResult, Kind: core.TicketClient,
		}), nil
	}
	return t.build()
}

// build completes the tool with its schema, or with what is wrong with it.
func (t *typed[Args]) build() Tool {
	if t.run == nil {
		return t.unsound(fmt.Errorf("tool %q has no function", t.spec.Name))
	}
	form, parameters, err := parametersOf[Args](t.spec)
	if err != nil {
		return t.unsound(err)
	}
	complete := t.spec
	complete.Parameters = parameters
	if err := complete.Check(); err != nil {
		return t.unsound(err)
	}
	t.spec, t.schema = complete, form
	return t
}

// unsound keeps what is wrong with a tool for the code that admits it.
func (t *typed[Args]) unsound(err error) Tool {
	t.spec.err = err
	return t
}

// parametersOf returns the parameters of a spec, or else those of Args, and their schema.
func parametersOf[Args any](spec Spec) (*schema.Schema, json.RawMessage, error) {
	if spec.Parameters == nil {
		form, parameters, err := infer[Args]()
		if err != nil {
			return nil, nil, fmt.Errorf("inferring the parameters of tool %q: %w", spec.Name, err)
		}
		return form, parameters, nil
	}
	form, err := schema.Read(spec.Parameters)
	if err != nil {
		return nil, nil, fmt.Errorf("parameters of tool %q: %w", spec.Name, err)
	}
	return form, spec.Parameters, nil
}

// errUnsound is the error of a call of a tool that should not have been admitted.
func errUnsound(err error) error {
	return core.Errorf(core.CodeInternal, "the tool was not made: %w", err)
}
