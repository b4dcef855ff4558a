package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// shown is the deployment that the tests record and replay: it does not change with
// what a user makes of functions/app.
var shown = wiring.Deployment{Parts: demo.Parts, Models: binding.Bind}

// hints are those that a recorded host has sent.
type hints struct{ waiting []core.WakeUp }

func (h *hints) Wake(_ context.Context, hint core.WakeUp, _ time.Duration) error {
	h.waiting = append(h.waiting, hint)
	return nil
}

// host is a recorded host: its file is closed when f returns.
func hosting(t *testing.T, data string, f func(file *bolt.Store, r *host.Host, work func())) {
	t.Helper()
	file, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	parts, err := shown.Agents(env.System(), settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	h := &hints{}
	r, err := host.New(host.Options{Env: env.System(), Store: file, Waker: h, Agents: parts, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	f(file, r, func() {
		for len(h.waiting) > 0 {
			hint := h.waiting[0]
			h.waiting = h.waiting[1:]
			if errs := r.WorkBatch(t.Context(), []core.WakeUp{hint}); errs[0] != nil {
				t.Fatal(errs)
			}
		}
	})
}

// record runs the texts, each on a thread of its own, t0, t1, ..., and approves what
// they ask for. It returns the file.
func record(t *testing.T, texts ...string) (data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "reveille.db")
	hosting(t, data, func(_ *bolt.Store, r *host.Host, work func()) { recordOn(t, r, work, texts) })
	return data
}

// forked makes a thread of the first message of another, and says a text there.
func forked(t *testing.T, data, from, to, text string) {
	t.Helper()
	hosting(t, data, func(_ *bolt.Store, r *host.Host, work func()) {
		last, err := r.Messages(t.Context(), core.Identity{Tenant: "local"}, from, host.MessageQuery{Descending: true, Limit: 1})
		if err != nil || len(last.Messages) != 1 {
			t.Fatal(last, err)
		}
		if _, err := r.Fork(t.Context(), core.Identity{Tenant: "local"}, from, last.Messages[0].ID, to); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Submit(t.Context(), mailbox.Submission{Thread: core.ThreadKey{Tenant: "local", Thread: to}, Opening: mailbox.Opening{AgentID: demo.ID}, Messages: []core.Message{core.UserMessage(text)}}); err != nil {
			t.Fatal(err)
		}
		work()
	})
}

// spoil makes a thread's first message unreadable.
func spoil(t *testing.T, data, name string) {
	t.Helper()
	hosting(t, data, func(file *bolt.Store, _ *host.Host, _ func()) {
		key := core.ThreadKey{Tenant: "local", Thread: name}
		if err := file.Put(t.Context(), key, store.Record{Name: store.LogName(1), Fence: 99, Payload: []byte("{")}); err != nil {
			t.Fatal(err)
		}
	})
}

func recordOn(t *testing.T, r *host.Host, work func(), texts []string) {
	t.Helper()
	for i, text := range texts {
		key := core.ThreadKey{Tenant: "local", Thread: "t" + string(rune('0'+i))}
		receipt, err := r.Submit(t.Context(), mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: demo.ID}, Messages: []core.Message{core.UserMessage(text)}})
		if err != nil {
			t.Fatal(err)
		}
		work()
		info, err := r.ReadRun(t.Context(), core.Identity{Tenant: "local"}, receipt.RunID)
		if err != nil {
			t.Fatal(err)
		}
		for _, ticket := range info.Tickets {
			d := mailbox.Deciding{Target: ticket.Suspension.ID, Decision: core.Decision{Action: core.DecisionResume, Payload: []byte(`{"approved":true,"answer":"blue"}`)}}
			if _, err := r.Decide(t.Context(), core.Identity{Tenant: "local"}, receipt.RunID, d); err != nil {
				t.Fatal(err)
			}
			work()
		}
	}
}

// replays is what the command prints and says: RUN stands for ids of runs, HASH for
// those of agents.
func replays(t *testing.T, code wiring.Deployment, data string, args ...string) string {
	t.Helper()
	var out, failures bytes.Buffer
	ok := run(t.Context(), code, append([]string{"-data", data}, args...), nil, &out, &failures)
	text := out.String() + failures.String()
	text = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).ReplaceAllString(text, "RUN")
	text = regexp.MustCompile(`[0-9a-f]{32}`).ReplaceAllString(text, "HASH")
	if ok {
		return text + "ok"
	}
	return text + "not ok"
}

// Every scenario of the scripted model comes to the same again.
func TestScriptedScenariosReplay(t *testing.T) {
	data := record(t, "hello", "echo: hi", "parallel: A, B", "think: X", "approve: X", "ask: X", `call: echo {"text":"x"}`, "fail", `call: gone {}`)
	want := `thread t0 run RUN (agent demo, 1 steps, 2 records): the same
thread t1 run RUN (agent demo, 2 steps, 4 records): the same
thread t2 run RUN (agent demo, 2 steps, 5 records): the same
thread t3 run RUN (agent demo, 1 steps, 2 records): the same
thread t4 run RUN (agent demo, 2 steps, 4 records): the same
thread t5 run RUN (agent demo, 2 steps, 4 records): the same
thread t6 run RUN (agent demo, 2 steps, 4 records): the same
thread t7 run RUN (agent demo, 0 steps, 1 records): the same
thread t8 run RUN (agent demo, 2 steps, 4 records): the same
9 runs, 0 differ, 0 not replayed
ok`
	if diff := cmp.Diff(want, replays(t, shown, data, "-all")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = "thread t1 run RUN (agent demo, 2 steps, 4 records): the same\n1 runs, 0 differ, 0 not replayed\nok"
	if diff := cmp.Diff(want, replays(t, shown, data, "t1")); diff != "" {
		t.Errorf("one thread (-want +got):\n%s", diff)
	}
}

// lenient is a plugin that has taken the place of the one that asks, and does not.
type lenient struct{}

func (lenient) ID() string { return permission.ID }
func (lenient) Register(r *plugin.Registrar) error {
	_, err := permission.Section.Read(r)
	return err
}

func TestCodeThatChangedIsTold(t *testing.T) {
	data := record(t, "approve: X")
	unguarded := wiring.Deployment{Models: binding.Bind, Parts: func(models map[string]agent.ModelBinding) (agent.Parts, error) {
		parts, err := demo.Parts(models)
		parts.Plugins[0] = lenient{}
		return parts, err
	}}
	got := replays(t, unguarded, data, "t0")
	want := `thread t0 run RUN (agent demo, 2 steps, 4 records): differs
  log, step 1, sequence 3, field decision
  recorded: "auto-HASH"
  present:  nothing
1 runs, 1 differ, 0 not replayed
not ok`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	other := wiring.Deployment{Models: binding.Bind, Parts: func(models map[string]agent.ModelBinding) (agent.Parts, error) {
		parts, err := demo.Parts(models)
		parts.Specs[0].SystemPrompt = "Be brief."
		return parts, err
	}}
	want = `thread t0 run RUN (agent demo, 2 steps, 4 records): the same
1 runs, 0 differ, 0 not replayed
ok` // with the spec of then, which the file has kept
	if diff := cmp.Diff(want, replays(t, other, data, "t0")); diff != "" {
		t.Errorf("another agent (-want +got):\n%s", diff)
	}
}

func TestCommandSaysWhatIsWrong(t *testing.T) {
	data := record(t, "hello")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"a thread that is not there", []string{"t9"}, "replay: replay thread local/t9: "},
		{"a run that is not there", []string{"t0", "01020304-0000-7000-8000-000000000000"}, "replay: run RUN in the log of thread local/t0: not found"},
		{"no run's id", []string{"t0", "x"}, `replay: run "x": `},
		{"nothing", nil, "replay: want a THREAD, or -all and no thread"},
		{"both", []string{"-all", "t0"}, "replay: want a THREAD, or -all and no thread"},
		{"no file", []string{"-data", "nowhere.db", "t0"}, "replay: stat nowhere.db: no such file or directory"},
		{"an unknown flag", []string{"-x"}, "flag provided but not defined: -x"},
	}
	for _, tt := range tests {
		if got := replays(t, shown, data, tt.args...); !strings.Contains(got, tt.want) || !strings.HasSuffix(got, "not ok") {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// Agents of files are part of the code that runs are replayed with.
func TestAgentsOfFilesAreRead(t *testing.T) {
	data, folder := record(t, "echo: hi"), t.TempDir()
	for text, want := range map[string]string{
		"id: helper\nmodel: default":           "1 runs, 0 differ, 0 not replayed",
		"id: helper\nmodel: large":             filepath.ToSlash(folder) + `/a.yaml:2:1: resolving agent "helper": model "large" not found, known are: default`,
		"id: helper\nmodel: default\nround: 3": filepath.ToSlash(folder) + `/a.yaml:3:1: unknown field "round"`,
	} {
		if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, failures bytes.Buffer
		run(t.Context(), shown, []string{"-data", data, "t0"}, []string{"REVEILLE_AGENTS=" + folder}, &out, &failures)
		if got := out.String() + failures.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
}

// The local host has its file open as long as it runs.
func TestFileOfARunningHostIsRefused(t *testing.T) {
	data := record(t, "hello")
	file, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if got := replays(t, shown, data, "t0"); !strings.Contains(got, "another process has the file open") || !strings.Contains(got, "stop the local host first") {
		t.Errorf("%s", got)
	}
}

// A fork has the messages of its first part from another thread, and no record of the runs
// that said them: the runs since the fork are replayed on them.
func TestForkedThreadIsReplayedFromTheForkOn(t *testing.T) {
	data := record(t, "echo: hi")
	forked(t, data, "t0", "t1", "echo: again")
	got := replays(t, shown, data, "t1")
	want := `thread t1 run RUN (agent , 2 steps, 4 records): not replayed: it belongs to the thread that this one was forked from, or its record is lost
thread t1 run RUN (agent demo, 2 steps, 4 records): the same
2 runs, 0 differ, 1 not replayed
ok`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// One thread that cannot be read keeps no other from its replay.
func TestAllGoesOnAfterAThreadThatCannotBeRead(t *testing.T) {
	data := record(t, "hello", "hello", "hello")
	spoil(t, data, "t1")
	want := `thread t0 run RUN (agent demo, 1 steps, 2 records): the same
thread t2 run RUN (agent demo, 1 steps, 2 records): the same
2 runs, 0 differ, 0 not replayed
1 threads cannot be replayed
replay: replay thread local/t1: `
	if got := replays(t, shown, data, "-all"); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "not ok") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
