package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/tool"
)

func TestCheckJSON(t *testing.T) {
	const approval = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
	tests := []struct {
		name, schema, value string
		code                core.Code
		want                string
	}{
		{"it matches", approval, `{"approved":true}`, "", ""},
		{"a schema that allows anything", `true`, `7`, "", ""},
		{"another type", approval, `"yes"`, core.CodeInvalid, `property "payload": got string, want object`},
		{"null", approval, `null`, core.CodeInvalid, `property "payload": got null, want object`},
		{"what is missing", approval, `{"ok":true}`, core.CodeInvalid, `property "payload.approved" is missing`},
		{"a property of another type", approval, `{"approved":"yes"}`, core.CodeInvalid, `property "payload.approved": got string, want boolean`},
		{"a keyword that is not explained", `{"not":{"type":"string"}}`, `"x"`, core.CodeInvalid, `payload does not match its schema`},
		{"no JSON", approval, `{`, core.CodeInvalid, `payload is not JSON: unexpected end of JSON input`},
		{"no schema", `{"type":7}`, `1`, core.CodeInternal, ``},
		{"a schema that refers to nothing", `{"$ref":"#/$defs/none"}`, `1`, core.CodeInternal, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := toolcall.CheckJSON("payload", json.RawMessage(tt.schema), json.RawMessage(tt.value))
			if core.CodeOf(err) != tt.code || tt.want != "" && err.Error() != tt.want {
				t.Errorf("%v has code %q, want %q of code %q", err, core.CodeOf(err), tt.want, tt.code)
			}
		})
	}
}

// A struct may be a text in JSON; arguments are an object.
func TestArgumentsThatAreAnObjectInGoAloneAreRefused(t *testing.T) {
	err := tool.New(tool.Spec{Name: "a"}, func(context.Context, tool.Call, time.Time) (string, error) { return "", nil }).Spec().Check()
	if want := `parameters of tool "a": the schema's type is "string", want "object"`; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}
