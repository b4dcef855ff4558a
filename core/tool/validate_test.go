package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// stay is arguments with a check of their own, by value.
type stay struct {
	From   int `json:"from"`
	Until  int `json:"until"`
	Guests int `json:"guests,omitempty"`
}

func (s stay) Check() error {
	switch {
	case s.Until <= s.From:
		return tool.InvalidArgument("until", "%d is not after %d", s.Until, s.From)
	case s.Guests == 13:
		return errors.New("no thirteen guests")
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
	return typed(t, tool.Spec{Name: "book"}, func(context.Context, tool.Call, Args) (tool.Result, error) { return tool.Text("booked"), nil })
}

// What the schema cannot say, the tool's own check says: behind the schema, before
// anything runs, and as a result that the model can mend.
func TestToolsOwnCheckOfItsArguments(t *testing.T) {
	full := tool.Validate(booking[stay](t), func(s stay) error {
		if s.Guests > 2 {
			return tool.InvalidArgument("guests", "at most 2 are allowed")
		}
		return nil
	})
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
			func(context.Context, tool.Call, *room) (tool.Result, error) { return tool.Text("booked"), nil }), `{"beds":0}`, `invalid arguments: property "beds": is zero`},
		{"one more check", full, `{"from":1,"until":2,"guests":3}`, `invalid arguments: property "guests": at most 2 are allowed`},
		{"one more check, behind the tool's own", full, `{"from":2,"until":1,"guests":3}`, `invalid arguments: property "until": 1 is not after 2`},
		{"one more check, passed", full, `{"from":1,"until":2,"guests":2}`, ``},
		{"no further check", tool.Validate[stay](booking[stay](t), nil), `{"from":1,"until":2}`, ``},
		{"one more check of other arguments", tool.Validate(stub{run: returns(tool.Text("ran"), nil)}, func(int) error { return nil }), `{}`,
			`invalid arguments: the arguments: got object, want int`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tool.Execute(t.Context(), tt.tool, tool.Call{ID: "c1", Name: "book", Arguments: json.RawMessage(tt.arguments)})
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
	cause := errors.New("no rooms")
	err := tool.Validate(booking[stay](t), func(stay) error { return cause }).Check(json.RawMessage(`{"from":1,"until":2}`))
	if core.CodeOf(err) != core.CodeInvalid || !errors.Is(err, cause) {
		t.Errorf("%v has code %q, want invalid, and its cause", err, core.CodeOf(err))
	}
}
