package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

type city struct {
	Name string `json:"name" jsonschema:"of the city"`
}

const citySchema = `{"type":"object","properties":{"name":{"type":"string","description":"of the city"}},"required":["name"],"additionalProperties":false}`

// made is New for functions that only return.
func made[Out any](out Out, err error) tool.Tool {
	return tool.New(tool.Spec{Name: "t"}, func(context.Context, tool.Call, city) (Out, error) { return out, err })
}

func TestNewMakesAResultOfWhatTheFunctionReturns(t *testing.T) {
	type forecast struct {
		Degrees int `json:"degrees"`
	}
	tests := []struct {
		name string
		tool tool.Tool
		want core.ToolResult
	}{
		{"a string", made("sunny", nil), core.ToolResult{Data: json.RawMessage(`"sunny"`), Status: core.ResultOK}},
		{"a struct", made(forecast{21}, nil), core.ToolResult{Data: json.RawMessage(`{"degrees":21}`), Status: core.ResultOK}},
		{"a pointer", made(&forecast{21}, nil), core.ToolResult{Data: json.RawMessage(`{"degrees":21}`), Status: core.ResultOK}},
		{"a nil pointer", made[*forecast](nil, nil), core.ToolResult{Data: json.RawMessage(`null`), Status: core.ResultOK}},
		{"a number", made(21, nil), core.ToolResult{Data: json.RawMessage(`21`), Status: core.ResultOK}},
		{"JSON", made(json.RawMessage(`[1]`), nil), core.ToolResult{Data: json.RawMessage(`[1]`), Status: core.ResultOK}},
		{"a result", made(tool.Failed("no such city"), nil), core.ToolResult{Message: "no such city", IsError: true, Status: core.ResultError}},
		{"a result among others", made[any](tool.NewResult("sunny"), nil), core.ToolResult{Data: json.RawMessage(`"sunny"`), Status: core.ResultOK}},
		{"an error", made("", errors.New("offline")), core.ToolResult{Message: "execution failed: offline", IsError: true, Status: core.ResultError}},
		{"what JSON cannot express", made(func() {}, nil), core.ToolResult{Message: "execution failed: encoding the result: json: unsupported type: func()", IsError: true, Status: core.ResultError}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := toolrun.Execute(t.Context(), test.tool, tool.Call{ID: "c1", Name: "t", Arguments: json.RawMessage(`{"name":"Oslo"}`)})
			if err != nil {
				t.Fatal(err)
			}
			test.want.CallID, test.want.Name = "c1", "t"
			if diff := cmp.Diff(test.want, got.ToolResult); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNewNeverFailsAndItsSpecSaysWhatIsWrong: nobody takes such a tool in, and one that
// is called all the same is an error and no panic.
func TestNewNeverFailsAndItsSpecSaysWhatIsWrong(t *testing.T) {
	ok := func(context.Context, tool.Call, struct{}) (string, error) { return "", nil }
	tests := []struct {
		name string
		tool tool.Tool
		want string
	}{
		{"a bad name", tool.New(tool.Spec{Name: "a b"}, ok), `tool name "a b" has the character ' ', allowed are A-Z a-z 0-9 _ -`},
		{"no name", tool.New(tool.Spec{Name: ""}, ok), `tool name is empty`},
		{"no function", tool.New[struct{}, string](tool.Spec{Name: "x"}, nil), `tool "x" has no function`},
		{"arguments without a schema", tool.New(tool.Spec{Name: "x"}, func(context.Context, tool.Call, struct{ C chan int }) (string, error) { return "", nil }),
			`inferring the parameters of tool "x": ForType(struct { C chan int }): type chan int is unsupported by jsonschema`},
		{"arguments that are no object", tool.New(tool.Spec{Name: "x"}, func(context.Context, tool.Call, []string) (string, error) { return "", nil }),
			`parameters of tool "x": the schema's type is "array", want "object"`},
		{"arguments that may be anything", tool.New(tool.Spec{Name: "x"}, func(context.Context, tool.Call, any) (string, error) { return "", nil }),
			`parameters of tool "x": the schema is true, want one whose type is "object"`},
		{"a schema that is no object", tool.New(tool.Spec{Name: "x", Parameters: json.RawMessage(`{"type":"string"}`)}, ok),
			`parameters of tool "x": the schema's type is "string", want "object"`},
		{"a schema that does not resolve", tool.New(tool.Spec{Name: "x", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`)}, ok),
			`parameters of tool "x": reference "#/nowhere" leads nowhere within the schema`},
		{"a timeout in the past", tool.New(tool.Spec{Name: "x", Timeout: -1}, ok), `tool "x" has the timeout -1ns, want 0 (none) or more`},
		{"a function that the client runs", tool.New(tool.Spec{Name: "x", Client: true}, ok),
			`tool "x" has a function, but Client is set in its spec: NewClient makes a tool that the client runs`},
		{"a client's, with a bad name", tool.NewClient[struct{}](tool.Spec{Name: "a b"}), `tool name "a b" has the character ' ', allowed are A-Z a-z 0-9 _ -`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fmt.Sprint(test.tool.Spec().Check())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := test.tool.Check(json.RawMessage(`{}`)); core.CodeOf(err) != core.CodeInternal {
				t.Errorf("Check returns %v, want an error with code internal", err)
			}
			if _, err := test.tool.Run(t.Context(), tool.Call{}); core.CodeOf(err) != core.CodeInternal {
				t.Errorf("Run returns %v, want an error with code internal", err)
			}
		})
	}
}

func TestArgumentsMayBeAPointerWhichIsNeverNil(t *testing.T) {
	byPointer := tool.New(tool.Spec{Name: "t"}, func(_ context.Context, _ tool.Call, c *city) (tool.Result, error) { return tool.NewResult(c.Name), nil })
	twice := tool.New(tool.Spec{Name: "t"}, func(_ context.Context, _ tool.Call, args **struct{}) (bool, error) { return *args != nil, nil })
	tests := []struct {
		name      string
		tool      tool.Tool
		arguments string
		schema    string
		want      string // data, or message
	}{
		{"a struct", byPointer, `{"name":"Oslo"}`, citySchema, `"Oslo"`},
		{"null", byPointer, `null`, citySchema, `invalid arguments: the arguments: got null, want object`},
		{"nothing", twice, ``, schema.NoParameters, `true`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.schema, string(test.tool.Spec().Parameters)); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			got, err := toolrun.Execute(t.Context(), test.tool, tool.Call{ID: "c1", Name: "t", Arguments: json.RawMessage(test.arguments)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got.Data)+got.Message); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewTakesNameAndDescription(t *testing.T) {
	got := tool.New(tool.Spec{Name: "dig", Description: "Digs."}, func(context.Context, tool.Call, city) (string, error) { return "", nil }).Spec()
	if got.Name != "dig" || got.Description != "Digs." || string(got.Parameters) != citySchema || got.Client {
		t.Errorf("the spec is %+v", got)
	}
}

// What is wrong with a tool is told under its name, whatever it is.
func TestAToolWithoutAFunctionKeepsItsName(t *testing.T) {
	if got := tool.New[struct{}, string](tool.Spec{Name: "dig", Description: "Digs."}, nil).Spec(); got.Name != "dig" || got.Description != "Digs." {
		t.Errorf("the spec is %+v", got)
	}
}

func TestNewClientWaitsForItsClient(t *testing.T) {
	where := tool.NewClient[city](tool.Spec{Name: "where", Description: "Finds a city."})
	if got := where.Spec(); !got.Client || got.Description != "Finds a city." || string(got.Parameters) != citySchema || got.Check() != nil {
		t.Errorf("the spec is %+v, %v", got, got.Check())
	}
	got, err := toolrun.Execute(t.Context(), where, tool.Call{ID: "c1", Name: "where", Arguments: json.RawMessage(`{"name":"Oslo"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := &core.TicketRequest{
		Action: "tool:where", Parameters: json.RawMessage(`{"name":"Oslo"}`),
		Mode: core.ResumeAsResult, Kind: core.TicketClient,
	}
	if diff := cmp.Diff(want, got.Suspend); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
