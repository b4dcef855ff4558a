package toolrun_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

// counted counts what is asked of a tool.
type counted struct {
	tool.Tool
	specs, checks *int
}

func (c counted) Spec() tool.Spec {
	*c.specs++
	return c.Tool.Spec()
}

func (c counted) Check(arguments json.RawMessage) error {
	*c.checks++
	return c.Tool.Check(arguments)
}

func TestPrepareChecksTheArgumentsOnce(t *testing.T) {
	type at struct {
		City string `json:"city"`
	}
	where := tool.New(tool.Spec{Name: "where"}, func(_ context.Context, _ tool.Call, args at) (string, error) { return args.City, nil })
	var specs, checks int
	for _, tt := range []struct {
		name          string
		tool          tool.Tool
		checks, specs int
	}{
		{"a typed tool", where, 0, 0},
		{"a tool of one's own", counted{where, &specs, &checks}, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			specs, checks = 0, 0
			admitted, err := toolrun.Admit(tt.tool)
			if err != nil {
				t.Fatal(err)
			}
			arguments := json.RawMessage(`{"city":"Oslo"}`)
			ready, err := toolrun.Prepare(admitted, arguments)
			if err != nil {
				t.Fatal(err)
			}
			if got := ready.Spec().Name; got != "where" {
				t.Errorf("the prepared tool is %q", got)
			}
			result, err := toolrun.Execute(t.Context(), ready, tool.Call{ID: "c", Name: "where", Arguments: arguments})
			if err != nil || result.Status != core.ResultOK || string(result.Data) != `"Oslo"` {
				t.Errorf("result %s %s, error %v", result.Status, result.Data, err)
			}
			if checks != tt.checks || specs != tt.specs {
				t.Errorf("%d checks and %d specs, want %d and %d", checks, specs, tt.checks, tt.specs)
			}
		})
	}
}

func TestPrepareRefusesWhatCheckRefuses(t *testing.T) {
	inferred := weather()
	own := tool.New(tool.Spec{Name: "own", Parameters: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, tool.Call, struct{}) (tool.Result, error) { return tool.NewResult("ran"), nil })
	for _, tt := range []struct {
		name      string
		tool      tool.Tool
		arguments string
		want      string
	}{
		{"a field that the schema has not", inferred, `{"city":"Oslo","x":1}`, `property "x" is unknown`},
		{"a field that only the schema has", own, `{"x":1}`, `json: unknown field "x"`},
		{"no JSON", inferred, `{`, "not JSON: unexpected end of JSON input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ready, err := toolrun.Prepare(tt.tool, json.RawMessage(tt.arguments))
			if ready != nil || err == nil || core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want {
				t.Errorf("%v, error %v, want %s", ready, err, tt.want)
			}
		})
	}
	if ready, err := toolrun.Prepare(inferred, json.RawMessage(`{"city":"`+strings.Repeat("x", 262144-10)+`"}`)); ready != nil || err != toolcall.ErrArgumentsTooLarge {
		t.Errorf("too large: %v, %v", ready, err)
	}
	if ready, err := toolrun.Prepare(inferred, json.RawMessage(`{"city":"`+strings.Repeat("x", 262144-11)+`"}`)); ready == nil || err != nil {
		t.Errorf("at the limit: %v, %v", ready, err)
	}
}
