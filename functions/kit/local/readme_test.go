package local

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/functions/kit/settings"
)

// TestTheReadmesCommandsWork sends what the README tells a newcomer to send with
// curl, in its order. Placeholders take the newest id that a response had.
func TestTheReadmesCommandsWork(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{ // in the response to each
		`{"type":"finish","finishReason":"stop"}`,
		`"text":"Echo: hello"`,
		`"status":"queued"`,
		`"termination":{"type":"natural_end"}`,
		`"type":"tool-approval-request"`,
		`"status":"decision_submitted"`,
		`"termination":{"type":"suspended"}`,
		`"resume_mode":"use_decision_as_tool_result"`,
		`"decision_id":"d1","duplicate":false`,
		`"status":"set"`,
		`"status":"queued","runs":[{"thread_id":"customer-c-17"`,
		`"text":"echo: order o-1 of 129.5"`,
		`"content":[{"type":"text","text":"Echo: hello"}]`,
	}
	commands := curls(string(readme))
	if lines := strings.Count(string(readme), "\ncurl "); lines != len(want) || len(commands) != len(want) {
		t.Fatalf("README.md has %d commands, want %d; understood are %q", lines, len(want), commands)
	}
	triggers := regexp.MustCompile("```json\n([^`]*\"triggers\"[^`]*)```").FindStringSubmatch(string(readme))
	s, err := settings.Read(nil)
	if err != nil || triggers == nil {
		t.Fatal(err, triggers)
	}
	s.Data, s.Triggers = filepath.Join(t.TempDir(), "reveille.db"), triggers[1]
	url, _ := serveSettings(t, s)
	ids := map[string]string{}
	for i, c := range commands {
		for name, id := range ids {
			c.address, c.body = strings.ReplaceAll(c.address, name, id), strings.ReplaceAll(c.body, name, id)
		}
		status, response := c.send(t, url)
		if status/100 != 2 || !strings.Contains(response, want[i]) {
			t.Fatalf("command %d, %+v: status %d, want %s in\n%s", i+1, c, status, want[i], response)
		}
		for name, pattern := range map[string]string{"RUN_ID": `"run_id":"([^"]+)"`, "TOOL_CALL_ID": `"toolCallId":"([^"]+)"|"id":"(call_[^"]+)"`} {
			if m := regexp.MustCompile(pattern).FindStringSubmatch(response); m != nil {
				ids[name] = strings.Join(m[1:], "")
			}
		}
		if strings.Contains(response, `"decision_submitted"`) { // what follows reads what the run came to
			get(t, url+"/v1/runs/"+ids["RUN_ID"]+"/events/stream")
		}
	}
}

// command is a use of curl.
type command struct{ address, header, body string }

// curls are the commands of a Markdown text's code blocks.
func curls(text string) (all []command) {
	line := regexp.MustCompile(`(?m)^curl(?: -N)? localhost:3000(\S+)(?: -H '([^']+)')?(?: -d '([^']+)')?$`)
	text = strings.ReplaceAll(text, " \\\n ", "")
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		all = append(all, command{m[1], m[2], m[3]})
	}
	return all
}

func (c command) send(t *testing.T, url string) (int, string) {
	t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if c.body != "" {
		method, body = http.MethodPost, strings.NewReader(c.body)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url+c.address, body)
	if err != nil {
		t.Fatal(err)
	}
	if name, value, ok := strings.Cut(c.header, ": "); ok {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, response)
}
