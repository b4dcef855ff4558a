package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// parts keeps them in memory. Its errors are returned where they are set.
type parts struct {
	kept    map[string]json.RawMessage
	reading error
	keeping error
}

func (p parts) Part(_ context.Context, name string) (json.RawMessage, bool, error) {
	value, ok := p.kept[name]
	return value, ok, p.reading
}

func (p parts) Keep(_ context.Context, name string, value json.RawMessage) (json.RawMessage, error) {
	if p.keeping != nil {
		return nil, p.keeping
	}
	if stored, ok := p.kept[name]; ok {
		return stored, nil
	}
	p.kept[name] = value
	return value, nil
}

func TestOnce(t *testing.T) {
	down, failed := errors.New("store is down"), errors.New("card declined")
	tests := []struct {
		name  string
		part  string
		parts parts
		value string
		fails error // of the part
		want  string
		err   string
		runs  int
		kept  string
	}{
		{name: "first time", part: "pay", value: `{"id":1}`, want: `{"id":1}`, runs: 1, kept: `{"id":1}`},
		{name: "second time", part: "pay", parts: parts{kept: map[string]json.RawMessage{"pay": json.RawMessage("1")}}, value: "2", want: "1", runs: 0, kept: "1"},
		{name: "another part was finished", part: "pay", parts: parts{kept: map[string]json.RawMessage{"book": json.RawMessage("1")}}, value: "2", want: "2", runs: 1, kept: "2"},
		{name: "a part that fails", part: "pay", fails: failed, err: "card declined", runs: 1},
		{name: "a name that is none", part: "a/b", err: `name of the part "a/b" has the character '/', allowed are A-Z a-z 0-9 . _ : -`},
		{name: "a result that is not JSON", part: "pay", value: "{", err: `the result of part "pay" is not JSON`, runs: 1},
		{name: "no result", part: "pay", err: `the result of part "pay" is not JSON`, runs: 1},
		{name: "a result with a byte that is no text", part: "pay", value: "\"\xff\"", err: `the result of part "pay" is not JSON`, runs: 1},
		{name: "a result over the limit", part: "pay", value: `"` + strings.Repeat("x", 1048575) + `"`, err: "result is larger than 1048576 bytes", runs: 1},
		{name: "parts that cannot be read", part: "pay", parts: parts{reading: down}, value: "1", err: "store is down"},
		{name: "a result that cannot be kept", part: "pay", parts: parts{keeping: down}, value: "1", err: "store is down", runs: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.parts.kept == nil {
				test.parts.kept = map[string]json.RawMessage{}
			}
			runs := 0
			got, err := tool.Call{Parts: test.parts}.Once(t.Context(), test.part, func(context.Context) (json.RawMessage, error) {
				runs++
				return json.RawMessage(test.value), test.fails
			})
			text := ""
			if err != nil {
				text = err.Error()
			}
			if string(got) != test.want || text != test.err || runs != test.runs {
				t.Errorf("Once returns %s, %q after %d runs, want %s, %q after %d", got, text, runs, test.want, test.err, test.runs)
			}
			if kept := string(test.parts.kept[test.part]); kept != test.kept {
				t.Errorf("kept is %q, want %q", kept, test.kept)
			}
		})
	}
}

func TestOnceWithoutPartsChecksItsResultAllTheSame(t *testing.T) {
	value := func(text string) func(context.Context) (json.RawMessage, error) {
		return func(context.Context) (json.RawMessage, error) { return json.RawMessage(text), nil }
	}
	if got, err := (tool.Call{}).Once(t.Context(), "pay", value("1")); err != nil || string(got) != "1" {
		t.Errorf("got %s, %v, want 1", got, err)
	}
	if _, err := (tool.Call{}).Once(t.Context(), "pay", value("{")); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("got %v, want an error with code invalid", err)
	}
}
