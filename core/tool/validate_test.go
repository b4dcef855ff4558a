package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

// stay is arguments with a check of their own, by value.
type stay struct {
	From   int `json:"from"`
	Until  int `json:"until"`
	Guests int `json:"guests,omitempty"`
}

var errThirteen = errors.New("no thirteen guests")

func (s stay) Check() error {
	switch {
	case s.Until <= s.From:
		return tool.InvalidArgument("until", "%d is not after %d", s.Until, s.From)
	case s.Guests == 13:
		return errThirteen
	case s.Guests == 99:
		panic("oh")
	}
	return nil
}

// room is arguments whose check has a pointer receiver.
type room struct {
	Beds int `json:"beds"`
}

func (r *room) Check() error {
	if r.Beds == 0 {
		return tool.InvalidArgument("beds", "is zero")
	}
	return nil
}

func booking[Args any](t *testing.T) tool.Tool {
	t.Helper()
	return typed(t, tool.Spec{Name: "book"}, func(context.Context, tool.Call, Args) (tool.Result, error) { return tool.NewResult("booked"), nil })
}

// What the schema cannot say, the tool's own check says: behind the schema, before
// anything runs, and as a result that the model can mend.
func TestToolsOwnCheckOfItsArguments(t *testing.T) {
	tests := []struct {
		name      string
		tool      tool.Tool
		arguments string
		want      string // message; empty: it ran
	}{
		{"it passes", booking[stay](t), `{"from":1,"until":2}`, ""},
		{"the schema comes first", booking[stay](t), `{"from":"x","until":2}`, `invalid arguments: property "from": got string, want integer`},
		{"an argument by its name", booking[stay](t), `{"from":2,"until":1}`, `invalid arguments: property "until": 1 is not after 2`},
		{"an error of no argument", booking[stay](t), `{"from":1,"until":2,"guests":13}`, `invalid arguments: no thirteen guests`},
		{"a panic", booking[stay](t), `{"from":1,"until":2,"guests":99}`, `invalid arguments: the tool panicked`},
		{"of a pointer receiver", booking[room](t), `{"beds":0}`, `invalid arguments: property "beds": is zero`},
		{"of a pointer receiver, passed", booking[room](t), `{"beds":1}`, ``},
		{"of arguments that are a pointer", typed(t, tool.Spec{Name: "book", Parameters: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, tool.Call, *room) (tool.Result, error) { return tool.NewResult("booked"), nil }), `{"beds":0}`, `invalid arguments: property "beds": is zero`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := toolrun.Execute(t.Context(), tt.tool, tool.Call{ID: "c1", Name: "book", Arguments: json.RawMessage(tt.arguments)})
			status := core.ResultInvalid
			if tt.want == "" {
				status = core.ResultOK
			}
			if err != nil || got.Message != tt.want || got.Status != status {
				t.Errorf("%q of status %s, %v; want %q of status %s", got.Message, got.Status, err, tt.want, status)
			}
		})
	}
}

func TestErrorOfACheckHasTheCodeInvalid(t *testing.T) {
	err := booking[stay](t).Check(json.RawMessage(`{"from":1,"until":2,"guests":13}`))
	if core.CodeOf(err) != core.CodeInvalid || !errors.Is(err, errThirteen) {
		t.Errorf("%v has code %q, want invalid, and its cause", err, core.CodeOf(err))
	}
}
