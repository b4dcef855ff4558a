package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/doctor"
	"github.com/reveille-run/reveille/core/store"
)

// file makes a data file with heads by the names of their threads.
func file(t *testing.T, heads map[string]store.Head) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reveille.db")
	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range heads {
		h.Version = 1
		if out, err := s.Commit(t.Context(), core.ThreadKey{Tenant: "local", Thread: name}, store.Commit{Head: h}); err != nil || !out.Written {
			t.Fatal(out, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// printed runs the command.
func printed(t *testing.T, environ []string, args ...string) (ok bool, out, failures string) {
	t.Helper()
	var o, f strings.Builder
	c := command{environ: environ, in: strings.NewReader(""), out: &o, failures: &f}
	ok = c.run(t.Context(), args)
	return ok, o.String(), f.String()
}

// named are the lines of the checks that are not ok, up to the count.
func named(out string) (lines []string) {
	for _, m := range regexp.MustCompile(`(?m)^(warn|problem) +(\S+) +(\d+) `).FindAllStringSubmatch(out, -1) {
		lines = append(lines, strings.Join(m[1:], " "))
	}
	return lines
}

func TestTheFileOfAStoppedHost(t *testing.T) {
	late := file(t, map[string]store.Head{"t1": {DueAt: time.Now().Add(-time.Hour).UnixMilli()}})
	newer := file(t, map[string]store.Head{"t1": {Schema: 99}})
	tests := []struct {
		name string
		args []string
		ok   bool
		want []string
	}{
		{"nothing", []string{"-data", file(t, nil)}, true, nil},
		{"a late thread is a warning", []string{"-data", late}, true, []string{"warn overdue 1"}},
		{"one that may be so late", []string{"-data", late, "-late", "2h"}, true, nil},
		{"a problem", []string{"-data", newer}, false, []string{"problem versions 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ok, out, failures := printed(t, nil, tt.args...)
			if diff := cmp.Diff(tt.want, named(out)); diff != "" || ok != tt.ok || failures != "" {
				t.Errorf("ok %v, %s\n%s\n%s", ok, failures, out, diff)
			}
			if !strings.HasPrefix(out, "file "+tt.args[1]+"\n") || !strings.HasSuffix(out, fmt.Sprintf("14 checks, %d problems\n", strings.Count(out, "\nproblem "))) {
				t.Errorf("it prints\n%s", out)
			}
		})
	}
	ok, out, _ := printed(t, []string{"REVEILLE_DATA=" + newer}, "-json")
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil || ok || r.Problems != 1 || r.Place != "file "+newer || len(r.Checks) != 14 || r.Checks[5].Check != "versions" || r.Checks[5].Status != doctor.Problem {
		t.Errorf("as JSON it prints %s (ok %v, %v)", out, ok, err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	held := file(t, nil)
	s, err := bolt.Open(held, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	missing := filepath.Join(t.TempDir(), "none.db")
	t.Setenv("PATH", t.TempDir())
	tests := []struct {
		name    string
		environ []string
		args    []string
		want    string
	}{
		{"a file that a host has open", nil, []string{"-data", held}, "open store " + held + ": another process has the file open (waited 1s for its lock): stop the local host first"},
		{"no file", nil, []string{"-data", missing}, "stat " + missing + ": no such file or directory"},
		{"no file at all", []string{"REVEILLE_DATA=memory"}, nil, "REVEILLE_DATA is memory, which only its process can read: want a file"},
		{"two places", nil, []string{"-data", held, "-stack", "x"}, "-data, -stack and -env exclude each other"},
		{"no SAM CLI", nil, []string{"-stack", "x"}, "the SAM CLI (command sam) is not on PATH, it reads the outputs of the stack: install it, or set REVEILLE_TABLE and the other variables"},
		{"half a deployment", []string{"REVEILLE_TABLE=t"}, nil, "REVEILLE_TABLE is set, so REVEILLE_CONFIG_TABLE must be set, too"},
		{"bad limits", []string{`REVEILLE_LIMITS={"x":1}`}, nil, `REVEILLE_LIMITS: limits: `},
		{"a negative time", nil, []string{"-late", "-1s"}, "-late and -window must not be negative"},
		{"an argument", nil, []string{"t1"}, `unknown command "t1", want quarantine, release, delete or replay-events`},
		{"a command without its thread", nil, []string{"-data", held, "delete"}, "delete takes one THREAD, such as t1 or acme/t1"},
		{"a bad thread", nil, []string{"-data", held, "delete", "a#b"}, `thread id "a#b" has the character`},
		{"too many arguments", nil, []string{"-data", held, "replay-events", "x"}, "replay-events takes no argument"},
		{"no environments", nil, []string{"-env", "prod"}, "samconfig.toml: open samconfig.toml: no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ok, out, failures := printed(t, tt.environ, tt.args...)
			if ok || out != "" || !strings.Contains(failures, "doctor: "+tt.want) {
				t.Errorf("ok %v, prints %q and %q, want %q", ok, out, failures, tt.want)
			}
		})
	}
}

func TestTheLineOfAQueue(t *testing.T) {
	tests := []struct {
		name, check string
		depth       sqs.Depth
		oldest      time.Duration
		want        string
	}{
		{"few wake-ups", "wake-ups", sqs.Depth{Waiting: 9, InFlight: 2, Delayed: 3}, 0, "ok 9"},
		{"some", "wake-ups", sqs.Depth{Waiting: 10}, 0, "warn 10"},
		{"many", "wake-ups", sqs.Depth{Waiting: 100}, 0, "problem 100"},
		{"no dead ones", "dead-wake-ups", sqs.Depth{}, 0, "ok 0"},
		{"dead ones", "dead-wake-ups", sqs.Depth{Waiting: 1}, 10 * time.Minute, "warn 1"},
		{"dead ones that stay", "dead-wake-ups", sqs.Depth{Waiting: 1}, 10*time.Minute + 1, "problem 1"},
		{"no parked events", "parked-events", sqs.Depth{}, 0, "ok 0"},
		{"parked events", "parked-events", sqs.Depth{Waiting: 1, InFlight: 2}, 0, "problem 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := queueLine(tt.check, tt.depth, tt.oldest)
			if got := fmt.Sprint(l.Status, " ", l.Count); got != tt.want || l.Check != tt.check || (l.Remedy == "") != (l.Status == doctor.OK) {
				t.Errorf("%v, want %s", l, tt.want)
			}
		})
	}
}

func TestTheClock(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", at.Format(http.TimeFormat))
	}))
	defer server.Close()
	for off, want := range map[time.Duration]doctor.Status{
		1999 * time.Millisecond: doctor.OK, 2 * time.Second: doctor.Warn, -2 * time.Second: doctor.Warn,
		9999 * time.Millisecond: doctor.Warn, 10 * time.Second: doctor.Problem, -10 * time.Second: doctor.Problem,
	} {
		if l := clockLine(t.Context(), server.URL, func() time.Time { return at.Add(off) }); l.Status != want {
			t.Errorf("a clock that is off by %s: %v, want %s", off, l, want)
		}
	}
	server.Close()
	if l := clockLine(t.Context(), server.URL, time.Now); l.Status != doctor.Warn || !strings.Contains(l.Text, "not known") {
		t.Errorf("without an endpoint: %v", l)
	}
}
