package agui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/protocol/stresstest"
)

// doubling is the schema of a tool that made one check of its arguments take hours and all
// memory: definitions that refer twice to the next.
func doubling(levels int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"text":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"number"}}}`, levels)
	return b.String()
}

func TestAFrontendToolWhoseSchemaMultipliesIsRefused(t *testing.T) {
	w := newWorld(t)
	const want = `{"error":"frontend.tools[0]: tool \"draw\": parameters of tool \"draw\": JSON Schema is too complex: ` +
		`more than 4096 schemas apply to one value when the references are followed","code":"too_large"}`
	status, text := w.post(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r1","tools":[{"name":"draw","parameters":`+doubling(18)+`}],`+
		`"messages":[{"id":"m1","role":"user","content":"call draw: {\"text\":\"x\"}"}]}`)
	if status != 413 || strings.TrimSpace(text) != want {
		t.Errorf("%d %s, want %s", status, text, want)
	}
}

func TestInvisibleInputIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, content := range []string{"", " ", "\u200b", "\u202e\u2066", "\u0000\u001b", "\u3164\ufeff"} {
		encoded, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		status, text := w.post(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":`+string(encoded)+`}]}`)
		if status != 400 {
			t.Errorf("%q: %d %s", content, status, text)
		}
	}
}

func TestErrorsNameNoTypesOfTheProgram(t *testing.T) {
	w := newWorld(t)
	status, text := w.post(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r1","tools":[{"name":"draw","parameters":"x"}],"messages":[{"id":"m1","role":"user","content":"hello"}]}`)
	const want = `{"error":"frontend.tools[0]: tool \"draw\": parameters of tool \"draw\": not a JSON Schema: it is of type string","code":"invalid"}`
	if status != 400 || strings.TrimSpace(text) != want {
		t.Errorf("%d %s, want %s", status, text, want)
	}
	for _, body := range stresstest.Mistyped(`{"threadId":"t1","runId":"r1","parentRunId":"r0","state":{"a":1},"forwardedProps":{"a":1},` +
		`"tools":[{"name":"draw","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}],"context":[{"description":"d","value":"v"}],` +
		`"resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true}}],` +
		`"messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"hello"}]},{"id":"m2","role":"tool","toolCallId":"c1","content":"x","error":"e"}]}`) {
		if status, text := w.post(t, "/v1/ag-ui/run", body); stresstest.NamesTypes(text) || status >= 500 {
			t.Errorf("%s\n%d %s", body, status, text)
		}
	}
}
