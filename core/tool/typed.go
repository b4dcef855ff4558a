package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
	"github.com/reveille-run/reveille/core/internal/toolcall"
)

// typed is a tool of a function, see [New].
type typed[Args any] struct {
	spec   Spec
	schema *schema.Schema
	strict bool // the schema is not that of Args: a field that only the schema knows is refused
	run    func(ctx context.Context, call Call, args Args) (Result, error)
}

// Spec implements Tool.
func (t *typed[Args]) Spec() Spec { return t.spec }

// Check implements Tool.
func (t *typed[Args]) Check(arguments json.RawMessage) error {
	_, err := t.args(arguments)
	return err
}

// args are arguments that pass the check, decoded.
func (t *typed[Args]) args(arguments json.RawMessage) (args Args, err error) {
	if t.spec.err != nil {
		return args, errUnsound(t.spec.err)
	}
	if len(arguments) > MaxArguments {
		return args, toolcall.ErrArgumentsTooLarge
	}
	var value any
	if err := json.Unmarshal(orEmpty(arguments), &value); err != nil {
		return args, core.Errorf(core.CodeInvalid, "not JSON: %w", err)
	}
	if err := t.schema.Check("", value); err != nil {
		return args, err
	}
	// One JSON value, then, and fit for the schema: what is left is what Args cannot
	// hold, and fields that only the schema knows.
	decode := json.Unmarshal
	if t.strict {
		decode = unmarshalStrict
	}
	if err := decode(orEmpty(arguments), &args); err != nil {
		return args, undecodable(err)
	}
	return args, checkArgs(&args)
}

// unmarshalStrict is json.Unmarshal that refuses unknown fields.
func unmarshalStrict(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(v)
}

// Run implements Tool.
func (t *typed[Args]) Run(ctx context.Context, call Call) (Result, error) {
	if t.spec.err != nil {
		return Result{}, errUnsound(t.spec.err)
	}
	var args Args
	if err := json.Unmarshal(orEmpty(call.Arguments), &args); err != nil { // they have passed Check, which is strict
		return Result{}, undecodable(err)
	}
	return t.run(ctx, call, args)
}

// Prepare returns the tool as one call is to run it, whose arguments are checked and decoded
// here.
func (t *typed[Args]) Prepare(arguments json.RawMessage) (Tool, error) {
	args, err := t.args(arguments)
	if err != nil {
		return nil, err
	}
	return &prepared[Args]{t, args}, nil
}

// prepared is a typed tool for one call.
type prepared[Args any] struct {
	typed *typed[Args]
	args  Args
}

// Spec implements Tool.
func (p *prepared[Args]) Spec() Spec { return p.typed.Spec() }

// Check implements Tool.
func (*prepared[Args]) Check(json.RawMessage) error { return nil }

// Run implements Tool.
func (p *prepared[Args]) Run(ctx context.Context, call Call) (Result, error) {
	return p.typed.run(ctx, call, p.args)
}

// undecodable is the error of arguments that the schema allows and Args cannot hold. The
// model reads it: it names the argument, and no struct of ours.
func undecodable(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return core.Errorf(core.CodeInvalid, "%s: got %s, want %s", argument(wrong.Field), wrong.Value, wrong.Type.Kind())
	}
	return core.Errorf(core.CodeInvalid, "%w", err)
}

func argument(name string) string {
	if name == "" {
		return "the arguments"
	}
	return fmt.Sprintf("property %q", name)
}

// orEmpty reads absent arguments as an object without properties: models leave
// them out when a tool needs none.
func orEmpty(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return json.RawMessage("{}")
	}
	return arguments
}

// infer returns the schema of Args and its JSON form for the model. For a pointer it is
// that of its element: arguments are an object, and never null.
func infer[Args any]() (*schema.Schema, json.RawMessage, error) {
	of := reflect.TypeFor[Args]()
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	inferred, err := schema.Infer(of)
	if err != nil {
		return nil, nil, err
	}
	if inferred.Type == "object" && len(inferred.Properties) == 0 && of.Kind() == reflect.Struct {
		form, _, err := schema.Of(inferred)
		return form, json.RawMessage(schema.NoParameters), err
	}
	form, parameters, err := schema.Of(inferred)
	if string(parameters) == `{"type":"object","additionalProperties":true}` { // a map of anything
		parameters = json.RawMessage(schema.AnyParameters)
	}
	return form, parameters, err
}
