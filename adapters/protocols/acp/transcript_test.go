package acp_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("update", false, "rewrite the transcripts")

// TestTranscripts plays what a client writes and compares what it reads, line by line.
//
// In the files, lines with -> are the client's, and those with <- the agent's. SESSION is
// the id of the session, RUN1 and so on those of runs. After each line of the client the
// agent writes until it has answered a request, or asks something itself.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := newTranscript(newWorld(t).serve("")).play(t, string(want))
			if string(want) == joined(string(want)) {
				got = joined(got)
			}
			if *rewrite {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// joined puts each text together that came in several chunks. Of a run that is in a queue
// it depends on who is quicker how many there are: a file with such a run has whole texts.
func joined(file string) string {
	const end = "\"}}}}\n"
	chunk := func(line string) (before, text string, ok bool) {
		head, text, ok := strings.Cut(line, `"agent_message_chunk","content":{"type":"text","text":"`)
		text, closed := strings.CutSuffix(text, end)
		return head, text, ok && closed
	}
	var lines []string
	for line := range strings.Lines(file) {
		before, text, ok := chunk(line)
		if n := len(lines); n > 0 && ok {
			if same, _, ok := chunk(lines[n-1]); ok && same == before {
				lines[n-1] = strings.TrimSuffix(lines[n-1], end) + text + end
				continue
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

type transcript struct {
	wire  *wire
	lines *bufio.Scanner
	names map[string]string // what an id is called in the file
	ids   map[string]string
}

func newTranscript(w *wire) *transcript {
	lines := bufio.NewScanner(w)
	lines.Buffer(nil, 1<<20)
	return &transcript{wire: w, lines: lines, names: map[string]string{}, ids: map[string]string{}}
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	drawn = regexp.MustCompile(`call_[0-9a-f]{12}_`) // the model's ids have a part of their own for each run
	words = regexp.MustCompile(`SESSION|RUN[0-9]+`)
)

// play returns the file as it should be.
func (s *transcript) play(t *testing.T, file string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(file) {
		sent, ours := strings.CutPrefix(line, "-> ")
		switch {
		case strings.HasPrefix(line, "<- "):
		case !ours:
			out.WriteString(line)
		default:
			out.WriteString(line)
			sent = words.ReplaceAllStringFunc(sent, func(name string) string { return s.ids[name] })
			if _, err := s.wire.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			for s.read(t, &out) {
			}
		}
	}
	return out.String()
}

// read copies one line of the agent's, and reports whether more follow.
func (s *transcript) read(t *testing.T, out *strings.Builder) bool {
	t.Helper()
	if !s.lines.Scan() {
		t.Fatalf("the connection ended: %v", s.lines.Err())
	}
	line := s.lines.Text()
	var message struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal([]byte(line), &message); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	line = drawn.ReplaceAllString(line, "call_")
	fmt.Fprintf(out, "<- %s\n", uuids.ReplaceAllStringFunc(line, s.name))
	return message.ID == nil && message.Result == nil && message.Error == nil
}

// name calls ids by the order in which they come: the first is the session's.
func (s *transcript) name(id string) string {
	if s.names[id] == "" {
		name := fmt.Sprintf("RUN%d", len(s.names))
		if len(s.names) == 0 {
			name = "SESSION"
		}
		s.names[id], s.ids[name] = name, id
	}
	return s.names[id]
}

func (s *transcript) send(t *testing.T, line string) {
	t.Helper()
	if _, err := s.wire.Write([]byte(line + "\n")); err != nil {
		t.Fatal(err)
	}
}

func (s *transcript) receive(t *testing.T, to any) {
	t.Helper()
	if !s.lines.Scan() {
		t.Fatalf("the connection ended: %v", s.lines.Err())
	}
	if err := json.Unmarshal(s.lines.Bytes(), to); err != nil {
		t.Fatalf("%s: %v", s.lines.Text(), err)
	}
}
