package wire

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

func calls(ids ...string) core.Message {
	m := core.Message{Role: core.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, core.ToolCall{ID: id, Name: "t"})
	}
	return m
}

func result(id string) core.Message {
	return core.Message{ID: "r", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: id}}
}

func TestCallIDsAreOurs(t *testing.T) {
	tests := []struct {
		name     string
		messages []core.Message
		want     []IDs
		fail     string
	}{
		{"none", []core.Message{core.UserMessage("a").WithID("1"), calls()}, []IDs{{}, {}}, ""},
		{"two, results in another order", []core.Message{core.UserMessage("a").WithID("1"), calls("x", "y"), result("y"), result("x")},
			[]IDs{{}, {Calls: []string{"c1_0", "c1_1"}}, {Result: "c1_1"}, {Result: "c1_0"}}, ""},
		{"ids that repeat from turn to turn", []core.Message{calls("f:0"), result("f:0"), calls("f:0"), result("f:0")},
			[]IDs{{Calls: []string{"c0_0"}}, {Result: "c0_0"}, {Calls: []string{"c2_0"}}, {Result: "c2_0"}}, ""},
		{"ids that repeat in a turn, or are missing", []core.Message{calls("", ""), result(""), result("")},
			[]IDs{{Calls: []string{"c0_0", "c0_1"}}, {Result: "c0_0"}, {Result: "c0_1"}}, ""},
		{"context between", []core.Message{calls("x"), {Role: core.RoleSystem}, result("x")}, []IDs{{Calls: []string{"c0_0"}}, {}, {Result: "c0_0"}}, ""},
		{"no call", []core.Message{calls("x"), result("z")}, nil, `a: tool message "r" has the result of call "z", which is not open in the previous turn`},
		{"twice", []core.Message{calls("x"), result("x"), result("x")}, nil, `a: tool message "r" has the result of call "x", which is not open in the previous turn`},
		{"of an older turn", []core.Message{calls("x"), calls(), result("x")}, nil, `a: tool message "r" has the result of call "x", which is not open in the previous turn`},
		{"no result", []core.Message{calls("x"), {ID: "r", Role: core.RoleTool}}, nil, `a: tool message "r" has no result`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := CallIDs("a", tt.messages)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			refused(t, err, tt.fail)
		})
	}
}

// refused checks the error of a request that has no form; "" is none.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	var e *model.Error
	if want == "" && err != nil || want != "" && (!errors.As(err, &e) || e.Kind != model.KindInvalid || e.Message != want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestArguments(t *testing.T) {
	tests := []struct{ name, stored, want string }{
		{"an object", `{"a": 1}`, `{"a": 1}`},
		{"none", ``, `{}`},
		{"null", `null`, `{}`},
		{"an empty text", `""`, `{}`},
		{"cut JSON", `"{\"a\":"`, `{"invalid_arguments":"{\"a\":"}`},
		{"a list", `[1]`, `{"invalid_arguments":"[1]"}`},
		{"an object within a text", `"{}"`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(ArgumentObject(json.RawMessage(tt.stored))); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestOptionsAreAddedBehindTheRequest(t *testing.T) {
	const body = `{"model":"m","max":1}`
	tests := []struct{ name, body, options, want, fail string }{
		{"none", body, ``, body, ""},
		{"an empty object", body, ` {} `, body, ""},
		{"sorted, without space", body + "\n", `{"z": [1, 2], "a": {"b": "<&>"}}`, `{"model":"m","max":1,"a":{"b":"<&>"},"z":[1,2]}`, ""},
		{"to an empty body", `{}`, `{"a":null}`, `{"a":null}`, ""},
		{"one that is set", body, `{"max":2}`, "", "a: provider_options.max is set by the adapter, remove it"},
		{"one that may be set", body, `{"stop":2}`, "", "a: provider_options.stop is set by the adapter, remove it"},
		{"a list", body, `[1]`, "", "a: provider_options are [1], want a JSON object"},
		{"cut", body, `{"a":`, "", `a: provider_options are {"a":, want a JSON object`},
		{"a body that is none", `[]`, `{"a":1}`, "", "a: encode the request: json: cannot unmarshal array into Go value of type map[string]json.RawMessage"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := AddOptions("a", []byte(tt.body), json.RawMessage(tt.options), "stop")
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			refused(t, err, tt.fail)
		})
	}
}

func TestEncode(t *testing.T) {
	got, err := Encode("a", map[string]string{"text": "<a> & b"})
	if err != nil || string(got) != `{"text":"<a> & b"}` {
		t.Errorf("%s, %v", got, err)
	}
	_, err = Encode("a", json.RawMessage("{"))
	refused(t, err, "a: encode the request: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input")
}

func TestToolsAreChecked(t *testing.T) {
	plain := func(name string) bool { return PlainName(name, 3) }
	tests := []struct {
		name string
		tool model.ToolDefinition
		fail string
	}{
		{"plain", model.ToolDefinition{Name: "a-B", Parameters: json.RawMessage(` {"type":"object"}`)}, ""},
		{"no parameters", model.ToolDefinition{Name: "_9z"}, ""},
		{"no name", model.ToolDefinition{}, `a: tool name "" is not supported by this API, want letters`},
		{"too long", model.ToolDefinition{Name: "abcd"}, `a: tool name "abcd" is not supported by this API, want letters`},
		{"a dot", model.ToolDefinition{Name: "a.b"}, `a: tool name "a.b" is not supported by this API, want letters`},
		{"a letter of another script", model.ToolDefinition{Name: "é"}, `a: tool name "é" is not supported by this API, want letters`},
		{"parameters that are no object", model.ToolDefinition{Name: "a", Parameters: json.RawMessage(`true`)}, `a: the parameters of tool "a" are true, want a JSON Schema object`},
		{"parameters that are cut", model.ToolDefinition{Name: "a", Parameters: json.RawMessage(`{`)}, `a: the parameters of tool "a" are {, want a JSON Schema object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckTools("a", []model.ToolDefinition{{Name: "ok"}, tt.tool}, plain, "letters")
			refused(t, err, tt.fail)
			if checked := Refused(err); tt.fail != "" && (core.CodeOf(checked) != core.CodeInvalid || checked.Error() != tt.fail) {
				t.Errorf("a check returns %v", checked)
			}
		})
	}
	if Refused(nil) != nil {
		t.Error("no error is refused")
	}
}

func TestNamesAreMadePlain(t *testing.T) {
	for name, want := range map[string]string{"": "_", "a-B_9": "a-B_9", "get wéather": "get_w_a", "abcdefghi": "abcdefg", "é": "_"} {
		got := MadePlain(name, 7)
		if got != want || !PlainName(got, 7) {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
