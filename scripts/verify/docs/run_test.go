package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/scripts/verify/docs/markdown"
)

// TestCommandsRun sends what documents tell their readers to send with curl: each
// document's commands in their order, to a host with the demo agent that has the
// document's triggers and files of agents. The lines of an output that follows a command must be in its
// response, in their order. Names such as RUN_ID take the newest id of a response.
func TestCommandsRun(t *testing.T) {
	for name, document := range documents(t) {
		if !slices.ContainsFunc(document.Blocks, func(b markdown.Block) bool { return b.Info == "sh run" }) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			triggers := `{"triggers": []}`
			for _, b := range document.Blocks {
				if b.Info == "json reader=triggers" {
					triggers = b.Text
					break
				}
			}
			environ := append(agentsOf(t, document), "REVEILLE_TRIGGERS="+triggers)
			c := client{url: start(t, environ...), ids: map[string]string{}}
			response := ""
			for _, b := range document.Blocks {
				switch b.Info {
				case "sh run":
					for _, command := range commands(b.Text) {
						response = c.send(t, fmt.Sprintf("%s:%d", name, b.Line), command)
					}
				case "text output":
					if missing := missingLine(response, b.Text, c.ids); missing != "" {
						t.Errorf("%s:%d: the response does not have the line %q, or not there:\n%s", name, b.Line, missing, response)
					}
				}
			}
		})
	}
}

// agentsOf writes the blocks of YAML that start with the name of a file, such as
// "# agents/helper.yaml", and returns the setting that reads them.
func agentsOf(t *testing.T, document markdown.Document) (environ []string) {
	t.Helper()
	folder := t.TempDir()
	for _, b := range document.Blocks {
		first, _, _ := strings.Cut(b.Text, "\n")
		name, ok := strings.CutPrefix(first, "# agents/")
		if !ok || b.Info != "yaml reader=spec" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(b.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		environ = []string{"REVEILLE_AGENTS=" + folder}
	}
	return environ
}

// builds is the folder of the host; empty: no test has built it.
var builds string

// built is the host with the demo agent, built once.
var built = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "documents")
	if err != nil {
		return "", err
	}
	builds = folder
	if err := watch(); err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "host")
	command := exec.Command("go", "build", "-o", binary, "./scripts/user/demo")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
})

// watch looks at the source of the host, so that go test's cache does: it does not see what a
// child process reads.
func watch() error {
	all, err := files()
	if err != nil {
		return err
	}
	for _, name := range all {
		if floor, _, _ := strings.Cut(name, "/"); slices.Contains([]string{"core", "adapters", "functions", "scripts", "go.mod"}, floor) && !strings.HasSuffix(name, "_test.go") {
			_, _ = os.Stat(filepath.Join(root, name)) // a file that was deleted is not built
		}
	}
	return nil
}

func TestMain(m *testing.M) {
	status := m.Run()
	if builds != "" {
		_ = os.RemoveAll(builds)
	}
	os.Exit(status)
}

// start starts a host on a store in memory, which ends with the test, and returns its URL.
func start(t *testing.T, environ ...string) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(binary)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "REVEILLE_ADDR=127.0.0.1:0", "REVEILLE_DATA=memory", "REVEILLE_MODEL=scripted", "WEBHOOK_SECRET=secret"}, environ...)
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it keeps nothing
		_ = command.Wait()
	})
	var said strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text()); url != "" {
			go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the process
			return url
		}
		fmt.Fprintln(&said, lines.Text())
	}
	t.Fatalf("the host did not start:\n%s", said.String())
	return ""
}

// command is a use of curl.
type command struct {
	method, path, body string
	headers            []string
}

var (
	use       = regexp.MustCompile(`(?m)^curl (.*)$`)
	continued = regexp.MustCompile(`\s*\\\n\s*`) // the end of a line that the next one continues
	option    = regexp.MustCompile(`\s*(?:-N|-s|-i|-X ([A-Z]+)|-H '([^']*)'|-d '([^']*)'|"?(?:http://)?(?:localhost|127\.0\.0\.1):3000([^\s"]*)"?)`)
)

// commands are the uses of curl in a block that this reads: with an address of the host
// and the options -N, -s, -i, -X, -H and -d.
func commands(text string) (all []command) {
	text = continued.ReplaceAllString(text, " ")
	for _, line := range use.FindAllStringSubmatch(text, -1) {
		c := command{method: http.MethodGet}
		for _, m := range option.FindAllStringSubmatch(line[1], -1) {
			switch {
			case m[1] != "":
				c.method = m[1]
			case m[2] != "":
				c.headers = append(c.headers, m[2])
			case m[3] != "":
				c.body = m[3]
				if c.method == http.MethodGet {
					c.method = http.MethodPost
				}
			case m[4] != "":
				c.path = m[4]
			}
		}
		if rest := option.ReplaceAllString(line[1], ""); c.path != "" && strings.TrimSpace(rest) == "" {
			all = append(all, c)
		}
	}
	return all
}

// client sends the commands of a document.
type client struct {
	url string
	ids map[string]string // the newest, by the names that documents have for them
}

// found finds the ids in responses.
var found = map[string]*regexp.Regexp{
	"RUN_ID":       regexp.MustCompile(`"run_?[iI]d":"([^"]+)"`),
	"THREAD_ID":    regexp.MustCompile(`"thread_?[iI]d":"([^"]+)"`),
	"TOOL_CALL_ID": regexp.MustCompile(`"tool_?[cC]all_?[iI]d":"([^"]+)"|"id":"(call_[^"]+)"`),
	"MESSAGE_ID":   regexp.MustCompile(`"message_?[iI]d":"([^"]+)"`),
}

func (c client) send(t *testing.T, where string, command command) string {
	t.Helper()
	path, body := c.fill(command.path), c.fill(command.body)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // also for a stream that does not end
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, command.method, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range command.headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, c.fill(value))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("%s: %s %s: %s, %v\n%s", where, command.method, path, response.Status, err, text)
	}
	for name, pattern := range found {
		if all := pattern.FindAllStringSubmatch(string(text), -1); all != nil {
			c.ids[name] = strings.Join(all[len(all)-1][1:], "")
		}
	}
	return string(text)
}

func (c client) fill(text string) string {
	for name, id := range c.ids {
		text = strings.ReplaceAll(text, name, id)
	}
	return text
}

// missingLine returns the first line of an output that a response does not have after the
// lines before it. A line of three dots stands for any lines, and names take their ids.
func missingLine(response, output string, ids map[string]string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(client{ids: ids}.fill(line))
		if line == "..." || line == "" {
			continue
		}
		_, rest, ok := strings.Cut(response, line)
		if !ok {
			return line
		}
		response = rest
	}
	return ""
}

func TestCommandsAreUnderstood(t *testing.T) {
	const text = "curl -N localhost:3000/v1/runs -H 'content-type: application/json' \\\n  -d '{\"a\":1}'\n" +
		"curl -X DELETE localhost:3000/v1/threads/t1\ncurl \"localhost:3000/v1/usage?from=1&to=2\"\ncurl --unknown localhost:3000/x\ncurl -s\n" +
		"curl -X PUT localhost:3000/v1/threads/t1 -d 'x'\n"
	want := []command{
		{http.MethodPost, "/v1/runs", `{"a":1}`, []string{"content-type: application/json"}},
		{http.MethodDelete, "/v1/threads/t1", "", nil},
		{http.MethodGet, "/v1/usage?from=1&to=2", "", nil},
		{http.MethodPut, "/v1/threads/t1", "x", nil},
	}
	if got := commands(text); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if missing := missingLine("a\nb\nc", "b\n...\nc\n", nil); missing != "" {
		t.Errorf("missing %q", missing)
	}
	if missing := missingLine("a\nb\nc", "c\nb\n", nil); missing != "b" {
		t.Errorf("missing %q, want b", missing)
	}
}
