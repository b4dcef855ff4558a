package mcp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// transcript writes down what goes over the wire. Ids are replaced by ID-1, ID-2 and so
// on, in the order in which they appear.
type transcript struct {
	t    *testing.T
	url  string
	text strings.Builder
	ids  []string
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|call_[0-9a-f]{12}`)

// exchange sends a body, in which ID-n stands for an id, and writes down both sides.
func (s *transcript) exchange(path, body string, header ...string) {
	s.t.Helper()
	fmt.Fprintf(&s.text, "-- request --\nPOST %s\n", path)
	for i := 0; i+1 < len(header); i += 2 {
		fmt.Fprintf(&s.text, "%s: %s\n", header[i], header[i+1])
	}
	fmt.Fprintf(&s.text, "\n%s\n", pretty(body))
	for i, id := range s.ids {
		name := fmt.Sprintf("ID-%d", i+1)
		path, body = strings.ReplaceAll(path, name, id), strings.ReplaceAll(body, name, id)
	}
	status, kind, answer := send(s.t, http.MethodPost, s.url+path, body, header...)
	fmt.Fprintf(&s.text, "-- response --\n%d %s\n\n", status, kind)
	for line := range strings.Lines(answer) {
		line = strings.TrimSuffix(line, "\n")
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			line = "data: " + pretty(data)
		} else {
			line = pretty(line)
		}
		s.text.WriteString(s.named(line) + "\n")
	}
}

var anyTime = regexp.MustCompile(`"created_at": \d+`)

// named replaces ids by their names, and times.
func (s *transcript) named(text string) string {
	text = anyTime.ReplaceAllString(text, `"created_at": 1`)
	return anyID.ReplaceAllStringFunc(text, func(id string) string {
		for i, known := range s.ids {
			if id == known {
				return fmt.Sprintf("ID-%d", i+1)
			}
		}
		s.ids = append(s.ids, id)
		return fmt.Sprintf("ID-%d", len(s.ids))
	})
}

// pretty indents JSON; anything else stays.
func pretty(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// modernCall is a message of the version without a handshake, and its headers.
func modernCall(id int, method, name, params string) (body string, header []string) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p1"}`
	if params != "" {
		meta += "," + params
	}
	header = []string{"Mcp-Protocol-Version", modern, "Mcp-Method", method}
	if name != "" {
		header = append(header, "Mcp-Name", name)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, meta), header
}

func TestTranscripts(t *testing.T) {
	const mcpPath = "/v1/mcp"
	tests := map[string]func(*transcript){
		"2026-07-28": func(s *transcript) {
			for i, c := range []struct{ method, name, params string }{
				{"server/discover", "", ""},
				{"tools/list", "", ""},
				{"tools/call", "demo", `"name":"demo","arguments":{"message":"echo: hello"}`},
				{"tools/call", "echo", `"name":"echo","arguments":{"text":"hello"}`},
				{"tools/call", "nothing", `"name":"nothing","arguments":{}`},
			} {
				body, header := modernCall(i+1, c.method, c.name, c.params)
				s.exchange(mcpPath, body, header...)
			}
		},
		"2025-11-25": func(s *transcript) {
			header := []string{"Mcp-Protocol-Version", legacy}
			s.exchange(mcpPath, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
			s.exchange(mcpPath, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header...)
			s.exchange(mcpPath, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo","arguments":{"message":"hello"}}}`, header...)
			s.exchange(mcpPath, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"demo","arguments":{"message":"hello again","thread_id":"ID-2"}}}`, header...)
			s.exchange(mcpPath, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"demo","arguments":{"message":"fail"}}}`, header...)
			s.exchange(mcpPath, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"demo","arguments":{"text":"hello"}}}`, header...)
		},
		"waiting": func(s *transcript) {
			header := []string{"Mcp-Protocol-Version", legacy}
			s.exchange(mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo","arguments":{"message":"approve: ship it"}}}`, header...)
			s.exchange("/v1/runs/ID-1/decision", `{"suspension_id":"ID-1.1.0.permission","action":"resume","decision_id":"d1"}`)
			s.exchange(mcpPath, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_run","arguments":{"run_id":"ID-1"}}}`, header...)
		},
	}
	for name, play := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.worker()
			s := &transcript{t: t, url: w.serve(w.handler(nil))}
			play(s)
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(s.text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), s.text.String()); diff != "" {
				t.Errorf("rewrite it with -update:\n%s", diff)
			}
		})
	}
}
