package thread_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/thread"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestScripts runs the scenarios of testdata. A script is a paragraph of #
// comments that says why, then commands, each with what comes of it below ----
// up to an empty line. script_change_test.go reads the commands.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// play runs a script and returns it with the output that it had.
func play(t *testing.T, script string) string {
	t.Helper()
	if !strings.HasPrefix(script, "# ") {
		t.Error("the script does not open with a paragraph that says why")
	}
	s := &stage{t: t, now: start}
	var out strings.Builder
	expected := false
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			if !expected {
				out.WriteString("\n")
			}
			expected = false
		case expected:
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case line == "----":
			expected = true
		default:
			fmt.Fprintf(&out, "%s\n", line)
			if result := s.run(line); result != "" {
				fmt.Fprintf(&out, "----\n%s", result)
			}
			out.WriteString("\n")
			expected = true
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// start is the time at which every script begins, a full minute.
const start = 1_000_020_000

// stage is a head and the world around it.
type stage struct {
	t       *testing.T
	head    thread.Head
	now     int64
	due     thread.DuePolicy
	schemas thread.Schemas
	told    bool // what happens to runs is announced
	commits uint64
}

// run executes one line and returns what came of it.
func (s *stage) run(line string) string {
	s.t.Helper()
	a := parse(s.t, line)
	switch a.name {
	case "now":
		s.now += a.duration(a.word(0))
		return ""
	case "head":
		return s.describe()
	case "due":
		s.due = thread.DuePolicy{Grace: a.duration(a.value("grace")), Round: a.duration(a.value("round"))}
		return ""
	case "program":
		s.schemas = thread.Schemas{Reads: uint16(a.number(a.value("reads"))), Writes: uint16(a.number(a.value("writes")))}
		return ""
	case "announce":
		s.told = true
		return ""
	case "layout":
		s.head.Layout = uint8(a.number(a.word(0)))
		return ""
	case "extension": // a newer program leaves a field of a run
		s.head.Extensions = append(s.head.Extensions, thread.Extension{Run: id(a.word(0)), Tag: uint64(a.number(a.word(1))), Value: []byte(a.word(2))})
		return s.describe()
	case "child": // a newer program lists a child of the open run
		s.head.Run.Children = append(s.head.Run.Children, id(a.word(0)))
		return s.describe()
	case "outbox": // a newer program leaves something that it owes
		s.head.Outbox = append(s.head.Outbox, thread.OutboxEntry{ID: id(a.word(0)), Kind: thread.OutboxKind(a.number(a.value("kind"))), Next: a.at("next", s.now)})
		return s.describe()
	case "status":
		status, ok := s.head.RunStatus(id(a.word(0)))
		if !ok {
			return "unknown\n"
		}
		return string(status) + "\n"
	case "size":
		return fmt.Sprintf("%d bytes\n", s.head.Size())
	case "repeat":
		last := ""
		for i := range a.number(a.word(0)) {
			_, rest, _ := strings.Cut(line, a.word(0)+" ")
			last = s.run(strings.ReplaceAll(rest, "%", fmt.Sprint(i+1)))
		}
		return last
	}
	return s.apply(a.change(s.head, s.now))
}

// apply commits a change and describes what came of it.
func (s *stage) apply(change thread.Change) string {
	s.t.Helper()
	before := encode(s.head)
	s.commits++
	t := thread.Transition{Now: s.now, CommitID: id(fmt.Sprintf("commit%d", s.commits)), Due: s.due, Schemas: s.schemas, Announce: s.told, Change: change}
	next, result, err := thread.Apply(s.head, t)
	if encode(s.head) != before {
		s.t.Errorf("%T changed its input", change)
	}
	if err != nil {
		return describeError(err)
	}
	text := describeResult(result, s.now)
	if result.Unchanged {
		return text
	}
	s.head = next
	return text + s.describe()
}

func (s *stage) describe() string { return describeHead(s.head) }

func encode(h thread.Head) string { return string(h.AppendBinary(make([]byte, 0, 512))) }
