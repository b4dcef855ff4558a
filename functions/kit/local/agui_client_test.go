//go:build clients

package local

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// aguiClients are the npm packages: AG-UI's client of today, and the one that CopilotKit
// pins.
var aguiClients = []string{"agui-1.0.0", "agui-0.0.59"}

// aguiNode runs a script of the AG-UI clients and reads what it prints into got.
func aguiNode(t *testing.T, got any, arguments ...string) {
	t.Helper()
	const folder = "../../../scripts/verify/clients/agui"
	if _, err := os.Stat(filepath.Join(folder, "node_modules", aguiClients[0])); err != nil {
		t.Fatal("the client is not installed: run `make test-clients`")
	}
	command := exec.CommandContext(t.Context(), "node", arguments...)
	var complaints strings.Builder
	command.Dir, command.Stderr = folder, &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", arguments, err, complaints.String())
	}
	if err := json.Unmarshal(out, got); err != nil {
		t.Fatalf("%v: %v in %s", arguments, err, out)
	}
}

// TestAGUIClientReadsTheHost takes the npm packages through every scenario against the
// whole host: what each client has afterwards, and what is stored, are the same.
func TestAGUIClientReadsTheHost(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	want, err := os.ReadFile("testdata/agui_scenarios.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range aguiClients {
		t.Run(name, func(t *testing.T) {
			var got, wanted map[string]any
			aguiNode(t, &got, "scenarios.mjs", url, name)
			if err := json.Unmarshal([]byte(strings.ReplaceAll(string(want), "CLIENT", name)), &wanted); err != nil {
				t.Fatal(err)
			}
			if name != aguiClients[0] { // what only 1.0 is told
				for _, scenario := range wanted {
					if m, ok := scenario.(map[string]any); ok {
						delete(m, "pendingCalls")
						delete(m, "first")
					}
				}
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("what the client and the store have (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAGUIClientRunsTheReadme runs the code of adapters/protocols/agui/README.md unchanged.
func TestAGUIClientRunsTheReadme(t *testing.T) {
	const document = "adapters/protocols/agui/README.md"
	readme, err := os.ReadFile("../../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(readme), "\n```js client\nimport { HttpAgent }")
	code, _, whole := strings.Cut(code, "```")
	if !found || !whole {
		t.Fatal(document + " has no such code")
	}
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	for _, name := range aguiClients {
		code := strings.NewReplacer("@ag-ui/client", name, "http://localhost:3000", url, "'c1'", "'"+name+"'").Replace("import { HttpAgent }" + code)
		var said []string
		aguiNode(t, &said, "--input-type=module", "-e", code+"\nconsole.log(JSON.stringify(agent.messages.map(m => m.role + ': ' + (m.content ?? ''))));")
		want := []string{"user: echo: hello", "assistant: ", `tool: {"text":"hello"}`, "assistant: Echo: hello"}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// reconnected is what reconnect.mjs prints.
type reconnected struct {
	Messages json.RawMessage `json:"messages"`
	Plain    []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"plain"`
	Types []string `json:"types"`
	Error string   `json:"error"`
	Same  bool     `json:"same"`
}

// TestAGUIClientReconnects loses the connection in the middle of the agent's words and of
// its thoughts, and sends the same runId again: to the same server, and to another one
// after the first was killed.
func TestAGUIClientReconnects(t *testing.T) {
	t.Parallel()
	words := slowWords(60) // six seconds: a client that stalls must not have them all when it loses its connection
	tests := []struct {
		name, text string
		drop       string
		restarts   bool
		want       []string
	}{
		{"dropped", "slow: 60", "9", false, []string{"user: slow: 60", "assistant: " + words}},
		{"killed", "slow: 60", "9", true, []string{"user: slow: 60", "assistant: " + words}},
		{"thinking", "think: hard", "5", false, []string{"user: think: hard", "reasoning: Thinking about hard", "assistant: I thought about it."}},
	}
	program := filepath.Join(t.TempDir(), "dev")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../../scripts/user/demo").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, test := range tests {
		for _, client := range aguiClients {
			t.Run(test.name+" "+client, func(t *testing.T) {
				t.Parallel()
				data := filepath.Join(t.TempDir(), "data.db")
				url, kill := runProgram(t, program, data)
				var lost, whole reconnected
				aguiNode(t, &lost, "reconnect.mjs", url, client, "t1", "r1", test.text, test.drop)
				if last := lost.Plain[len(lost.Plain)-1].Content; len(lost.Plain) < 2 || len(last) >= len(words) {
					t.Fatalf("the client had everything when its connection was lost: %v", lost.Plain)
				}
				if test.restarts {
					kill()
					url, _ = runProgram(t, program, data)
				}
				aguiNode(t, &whole, "reconnect.mjs", url, client, "t1", "r1", test.text, "0", string(lost.Messages))
				var got []string
				for _, m := range whole.Plain {
					got = append(got, m.Role+": "+m.Content)
				}
				if diff := cmp.Diff(test.want, got); diff != "" || !whole.Same || whole.Error != "" {
					t.Errorf("error %q, as stored: %v, messages (-want +got):\n%s", whole.Error, whole.Same, diff)
				}
			})
		}
	}
}

// runProgram runs the built host on a file and returns its address, and what kills it.
func runProgram(t *testing.T, program, data string) (url string, kill func()) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program)
	c.Env = append(os.Environ(), "REVEILLE_ADDR=127.0.0.1:0", "REVEILLE_DATA="+data, "REVEILLE_MODEL=scripted", "REVEILLE_AUTH=")
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	log := make(chan string, 1) // the rest of it, when the host has ended
	kill = sync.OnceFunc(func() {
		_ = c.Process.Kill()
		rest := <-log
		if err := c.Wait(); t.Failed() {
			t.Logf("the host ended with %v\n%s", err, rest)
		}
	})
	t.Cleanup(kill)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), "msg=listening url="); ok {
			url, _, _ = strings.Cut(rest, " ")
			go func() {
				rest, _ := io.ReadAll(stderr)
				log <- string(rest)
			}()
			return url, kill
		}
	}
	log <- ""
	t.Fatal("the host ended before it listened")
	return "", nil
}
