package finalanswer_test

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/model"
)

// Models of a provider that enforces a form say null for what they leave out.
func TestAnAnswerMayLeaveOutByNull(t *testing.T) {
	f := &model.ResponseFormat{Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"note":{"type":"string"}},"required":["city"],"additionalProperties":false}`)}
	for _, tt := range []struct{ text, want, wrong string }{
		{`{"city":"Oslo","note":null}`, `{"city":"Oslo"}`, ""},
		{`{"city": "null"}`, `{"city": "null"}`, ""},
		{`{"city":null,"note":null}`, `{"city":null}`, `property "answer.city": got null, want string`},
		{"null", "null", `property "answer": got null, want object`},
		{"{null", "{null", "answer is not JSON: invalid character 'n' looking for beginning of object key string"},
	} {
		wrong := ""
		if err := finalanswer.Check(f, tt.text); err != nil {
			wrong = err.Error()
		}
		if got := finalanswer.DropNulls(f, tt.text); got != tt.want || wrong != tt.wrong {
			t.Errorf("%s is read as %s, %q, want %s, %q", tt.text, got, wrong, tt.want, tt.wrong)
		}
	}
	broken := &model.ResponseFormat{Schema: json.RawMessage(`{"$ref":"#/x"}`)}
	if got := finalanswer.DropNulls(broken, `{"a":null}`); got != `{"a":null}` {
		t.Errorf("by a form that is none: %s", got)
	}
}
