package local

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// folderOf writes files into a folder, by name, and returns settings with REVEILLE_AGENTS.
func folderOf(t *testing.T, files map[string]string) settings.Settings {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := settings.Read([]string{"REVEILLE_DATA=memory", "REVEILLE_AGENTS=" + folder})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An agent of a file uses the tools and models of the program. It receives the requests that
// name no agent, since it is the only one in the files.
func TestAgentsOfFilesAreServed(t *testing.T) {
	s := folderOf(t, map[string]string{
		"helper.yaml": "id: helper\nmodel: default\nsystem_prompt: You repeat texts.\nallowed_tools: [echo]\n",
		"notes.txt":   "not an agent",
	})
	url, _ := serveSettings(t, s)
	_, agents := get(t, url+"/v1/capabilities")
	if !strings.Contains(agents, `"agents":["buyer","coordinator","demo","helper","researcher"]`) || !strings.Contains(agents, `"default_agent":"helper"`) {
		t.Errorf("capabilities %s", agents)
	}
	_, run := post(t, url+"/v1/runs", `{"threadId":"t1","messages":[{"role":"user","content":"echo: hello"}]}`)
	if !strings.Contains(run, `"agent_id":"helper"`) || !strings.Contains(run, `Echo: hello`) {
		t.Errorf("the run of the file's agent:\n%s", run)
	}
	_, run = post(t, url+"/v1/runs", `{"threadId":"t2","messages":[{"role":"user","content":"call: danger {\"action\":\"x\"}"}]}`)
	if !strings.Contains(run, `danger`) || strings.Contains(run, `"status":"waiting"`) {
		t.Errorf("a tool that the file does not allow:\n%s", run)
	}
	_, run = post(t, url+"/v1/runs", `{"threadId":"t3","agentId":"demo","messages":[{"role":"user","content":"echo: hello"}]}`)
	if !strings.Contains(run, `"agent_id":"demo"`) || !strings.Contains(run, `Echo: hello`) {
		t.Errorf("the run of the program's agent:\n%s", run)
	}
}

func TestErrorsOfAgentFilesHavePlaces(t *testing.T) {
	tests := []struct {
		name, file, text string
		want             string // after the folder
	}{
		{"YAML", "a.yaml", "id: a\n model: default", `/a.yaml:2:1: not YAML: mapping values are not allowed in this context`},
		{"a field", "a.yaml", "id: a\nmodel: default\nmax_round: 3", `/a.yaml:3:1: unknown field "max_round", did you mean "max_rounds"?`},
		{"a value", "a.yaml", "id: a\nmodel: default\nmax_rounds: many", `/a.yaml:3:1: max_rounds is "many", want a whole number`},
		{"a model", "a.yaml", "id: a\nmodel: large", `/a.yaml:2:1: resolving agent "a": model "large" not found, known are: default`},
		{"a tool", "a.yaml", "id: a\nmodel: default\nallowed_tools: [ecko]", `/a.yaml:3:17: resolving agent "a": tool "ecko" not found, known are: ask_user, danger, echo, read_result, set_state`},
		{"a section", "a.json", "{\"id\": \"a\", \"model\": \"default\", \"plugins\": [\"permission\"],\n\"sections\": {\"permission\": {\"rule\": []}}}",
			`/a.json:2:29: resolving agent "a": registering plugin "permission": section "permission": unknown field "rule", did you mean "rules"?`},
		{"an agent of the program", "a.yaml", "id: demo\nmodel: default", `/a.yaml:1:1: agent "demo" is given twice`},
		{"a key", "a.yaml", "providers:\n- {id: p, adapter: openai, api_key: sk-1}", `/a.yaml:2:28: api_key does not belong into a file, api_key_env names the environment variable that holds it`},
		{"no file", "a.txt", "", `: there is no file *.yaml, *.yml or *.json`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := folderOf(t, map[string]string{test.file: test.text})
			_, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler), demonstration)
			if err == nil {
				t.Fatal("the host starts")
			}
			_, got, _ := strings.Cut(err.Error(), s.Agents)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
