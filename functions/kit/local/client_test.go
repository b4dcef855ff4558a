//go:build clients

package local

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// clients are the npm packages: ai, newest 6.x, 6.0.0 and newest 7.x.
var clients = []string{"ai", "ai-6.0.0", "ai-7"}

// node runs a script of the AI SDK clients and returns what it prints.
func node(t *testing.T, arguments ...string) []byte {
	t.Helper()
	const folder = "../../../scripts/verify/clients/aisdk"
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "ai")); err != nil {
		t.Fatal("the client is not installed: run `make test-clients`")
	}
	command := exec.CommandContext(t.Context(), "node", arguments...)
	command.Dir, command.Stderr = folder, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", arguments, err)
	}
	return out
}

// TestAISDKClientReadsTheHost sends the main job's message to the whole host
// with the npm packages.
func TestAISDKClientReadsTheHost(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	for _, name := range clients {
		out := node(t, "chat.mjs", url, "echo: hello", name)
		type part struct {
			Type   string
			State  string
			Text   string
			Input  map[string]string
			Output map[string]string
		}
		var got struct {
			FinishReason string
			Parts        []part
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v in %s", name, err, out)
		}
		want := []part{
			{Type: "step-start"},
			{Type: "tool-echo", State: "output-available", Input: map[string]string{"text": "hello"}, Output: map[string]string{"text": "hello"}},
			{Type: "step-start"},
			{Type: "text", State: "done", Text: "Echo: hello"},
		}
		if diff := cmp.Diff(want, got.Parts); diff != "" || got.FinishReason != "stop" {
			t.Errorf("%s: finish reason %q, parts (-want +got):\n%s", name, got.FinishReason, diff)
		}
	}
}

// TestAISDKClientDecides lets the npm packages approve, deny, approve after a
// reload and run the client's tool, against the whole host.
func TestAISDKClientDecides(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	for _, name := range clients {
		t.Run(name, func(t *testing.T) {
			var got map[string]any
			if err := json.Unmarshal(node(t, "decide.mjs", url, name), &got); err != nil {
				t.Fatal(err)
			}
			for title, want := range decided(name) {
				var value any
				if err := json.Unmarshal([]byte(want), &value); err != nil {
					t.Fatalf("%s: %v in %s", title, err, want)
				}
				if diff := cmp.Diff(value, got[title]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", title, diff)
				}
			}
		})
	}
}

// decided is what decide.mjs prints of each scenario.
func decided(client string) map[string]string {
	outcome := func(count int, asked, part, stored, text string) string {
		parts := func(tool string) string {
			return `[{"type":"step-start"},` + tool + `,{"type":"step-start"},{"type":"text","state":"done","text":` + text + `}]`
		}
		return `{"asked":"` + asked + `","finishReasons":["tool-calls","stop"],"isAbort":false,"sameMessage":true,"count":` + strconv.Itoa(count) + `,` +
			`"parts":` + parts(part) + `,"stored":` + parts(stored) + `}`
	}
	ran := func(count int, title string) string {
		text := title + " " + client
		stored := `{"type":"tool-danger","state":"output-available","input":{"text":"` + text + `"},"output":{"text":"` + text + `","executions":1}`
		return outcome(count, "approval-requested", stored+`,"approved":true}`, stored+`}`, `"Done: `+text+`"`)
	}
	denied := `{"type":"tool-danger","state":"output-denied","input":{"text":"denied ` + client + `"},"approved":false`
	answered := `{"type":"tool-ask_user","state":"output-available","input":{"question":"answered?"},"output":{"name":"Ann"}}`
	unanswered := `{"type":"tool-ask_user","state":"output-error","input":{"question":"unanswered?"},"errorText":"cancelled: nobody is there"}`
	again := `[{"type":"step-start"},{"type":"tool-danger","state":"output-available","input":{"text":"remembered ` + client + `"},"output":{"text":"remembered ` + client + `","executions":2}},` +
		`{"type":"step-start"},{"type":"text","state":"done","text":"Done: remembered ` + client + `"}]`
	// What the client settled stays its own, and the new message has a response behind it.
	settled := func(title, part, kept string) string {
		messages := func(part string) string {
			return `[{"role":"user","parts":[{"type":"text","text":"ask: ` + title + `?"}]},{"role":"assistant","parts":[{"type":"step-start"},` + part + `]},` +
				`{"role":"user","parts":[{"type":"text","text":"echo: ` + title + ` ` + client + `"}]},` +
				`{"role":"assistant","parts":[{"type":"step-start"},{"type":"tool-echo","state":"output-available","input":{"text":"` + title + ` ` + client + `"},"output":{"text":"` + title + ` ` + client + `"}},` +
				`{"type":"step-start"},{"type":"text","state":"done","text":"Echo: ` + title + ` ` + client + `"}]}]`
		}
		return `{"sameMessage":false,"sameIds":true,"chat":` + messages(part) + `,"stored":` + messages(kept) + `}`
	}
	output := `{"type":"tool-ask_user","state":"output-available","input":{"question":"settled?"},"output":{"name":"Ann"}}`
	left := func(text string) string {
		return `{"type":"tool-ask_user","state":"output-error","input":{"question":"givenUp?"},"errorText":"` + text + `"}`
	}
	return map[string]string{
		"settled":    settled("settled", output, output),
		"givenUp":    settled("givenUp", left("left"), left("cancelled: left")),
		"remembered": `{"finishReason":"stop","count":4,"parts":` + again + `,"stored":` + again + `}`,
		"superseded": ran(4, "instead"),
		"approved":   ran(2, "approved"),
		"reloaded":   ran(2, "reloaded"),
		"denied":     outcome(2, "approval-requested", denied+`,"reason":"not today"}`, denied+`}`, `"The call of danger was denied."`),
		"answered":   outcome(2, "input-available", answered, answered, `"The answer is: {\"name\":\"Ann\"}"`),
		"unanswered": outcome(2, "input-available", unanswered, unanswered, `"The call of ask_user was denied."`),
	}
}

// TestAISDKClientRegeneratesAndEdits asks for other answers and edits sent messages with
// the npm packages, against the whole host: what the client has and what is stored are
// the same after each, under the same ids.
func TestAISDKClientRegeneratesAndEdits(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	const want = `{
		"regenerated": {
			"different": 4,
			"both": ["user: echo: one", "assistant: Echo: one", "user: echo: two", "assistant: Echo: two"],
			"one": ["user: echo: one", "assistant: Echo: one"],
			"shown": 4
		},
		"edited": {
			"newest": ["user: echo: one", "assistant: Echo: one", "user: echo: other", "assistant: Echo: other"],
			"again": ["user: echo: one", "assistant: Echo: one", "user: echo: other", "assistant: Echo: other"],
			"oldest": ["user: echo: anew", "assistant: Echo: anew", "user: echo: on", "assistant: Echo: on"],
			"kept": true
		},
		"waiting": {
			"late": {"status": 404, "code": "not_found"},
			"later": {"status": 404, "code": "not_found"},
			"ran": 1,
			"approved": ["user: approve: superseded X", "assistant: Done: superseded X"],
			"edited": ["user: echo: instead", "assistant: Echo: instead"]
		},
		"stopped": {"messages": ["user: echo: quick", "assistant: Echo: quick"], "kept": true},
		"doubled": {"messages": ["user: slow: 5", "assistant: w1 w2 w3 w4 w5"], "added": 3},
		"unheard": {"reported": ["no network"], "messages": ["user: echo: heard", "assistant: Echo: heard"]},
		"corrected": {"reported": ["no network"], "messages": ["user: echo: corrected", "assistant: Echo: corrected"]}
	}`
	for _, name := range clients {
		for transport, starter := range map[string][]string{"": nil, ", the last message only": {lastMessage(t)}} {
			t.Run(name+transport, func(t *testing.T) {
				var got, wanted any
				if err := json.Unmarshal(node(t, append([]string{"regenerate.mjs", url, name}, starter...)...), &got); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal([]byte(want), &wanted); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(wanted, got); diff != "" {
					t.Errorf("what the client and the store have (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestAISDKClientSendsAFile lets the npm packages send an image with a text, as the
// client makes it of what a person chose, and load it again.
func TestAISDKClientSendsAFile(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	const want = `{"said": "You said: look [dot.png, image/png, 3 bytes]", "stored": [
		{"type": "file", "mediaType": "image/png", "filename": "dot.png", "url": "data:image/png;base64,YWJj"},
		{"type": "text", "text": "look"}]}`
	for _, name := range clients {
		out := node(t, "file.mjs", url, name)
		var got, wanted any
		if err := errors.Join(json.Unmarshal(out, &got), json.Unmarshal([]byte(want), &wanted)); err != nil {
			t.Fatalf("%s: %v in %s", name, err, out)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// lastMessage returns the file of the chat starter that makes requests with one message.
func lastMessage(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("../../../scripts/user/new/starters/chat/page/src/chat.js.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	return file
}
