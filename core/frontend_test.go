package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestFrontendsAreBounded(t *testing.T) {
	tools := func(n int) *core.Frontend {
		f := &core.Frontend{}
		for i := range n {
			f.Tools = append(f.Tools, core.FrontendTool{Name: fmt.Sprint("t", i)})
		}
		return f
	}
	sized := func(bytes int) *core.Frontend { // {"tools":[{"name":"a","description":"..."}]}
		return &core.Frontend{Tools: []core.FrontendTool{{Name: "a", Description: strings.Repeat("x", bytes-41)}}}
	}
	tests := []struct {
		name string
		f    *core.Frontend
		code core.Code
	}{
		{"none", nil, ""},
		{"nothing", &core.Frontend{}, ""},
		{"64 tools", tools(64), ""},
		{"65 tools", tools(65), core.CodeTooLarge},
		{"64 pieces of context", &core.Frontend{Context: make([]core.FrontendContext, 64)}, ""},
		{"65 pieces of context", &core.Frontend{Context: make([]core.FrontendContext, 65)}, core.CodeTooLarge},
		{"64 KiB", sized(65536), ""},
		{"64 KiB and a byte", sized(65537), core.CodeTooLarge},
		{"a tool twice", &core.Frontend{Tools: []core.FrontendTool{{Name: "a"}, {Name: "a"}}}, core.CodeInvalid},
		{"a state", &core.Frontend{State: json.RawMessage(` {"a": 1}`)}, ""},
		{"a state that is no object", &core.Frontend{State: json.RawMessage(`[1]`)}, core.CodeInvalid},
		{"a state that is null", &core.Frontend{State: json.RawMessage(`null`)}, core.CodeInvalid},
		{"a schema that is no JSON", &core.Frontend{Tools: []core.FrontendTool{{Name: "a", Parameters: json.RawMessage(`{`)}}}, core.CodeInvalid},
	}
	for _, test := range tests {
		if err := test.f.Check(); core.CodeOf(err) != test.code {
			t.Errorf("%s: %v, want code %q", test.name, err, test.code)
		}
	}
	if err := sized(65537).Check(); !errors.Is(err, core.ErrFrontendTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestStatelessLeavesTheStateOut(t *testing.T) {
	both := &core.Frontend{Tools: []core.FrontendTool{{Name: "a"}}, State: json.RawMessage(`{}`)}
	if got := both.Stateless(); got.State != nil || len(got.Tools) != 1 || both.State == nil {
		t.Errorf("%+v of %+v", got, both)
	}
	for _, f := range []*core.Frontend{nil, {}, {State: json.RawMessage(`{}`)}} {
		if got := f.Stateless(); got != nil {
			t.Errorf("%+v of %+v", got, f)
		}
	}
}
