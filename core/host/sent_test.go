package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// build is a program whose agent and tool speak of a version.
func build(t *testing.T, w *world, version string, backend store.Backend) {
	t.Helper()
	next := newWorld(t, func(o *host.Options) {
		o.Store, o.Waker = backend, w.queue
		o.Agents.Tools = []tool.Tool{tool.New(tool.Spec{Name: "echo", Description: "Says a text back, " + version + "."},
			func(_ context.Context, _ tool.Call, a echoArguments) (tool.Result, error) {
				return tool.NewResult(a), nil
			})}
		o.Agents.Specs = []agent.Spec{{ID: "demo", Model: "m", SystemPrompt: "Be " + version + "."}}
	})
	w.Host, w.store = next.Host, backend
}

// said runs an input, and returns the run.
func (w *world) said(t *testing.T, threadID, text string) core.ID {
	t.Helper()
	receipt, err := w.Submit(t.Context(), submission(threadID, text))
	if err != nil {
		t.Fatal(err)
	}
	w.drain(t)
	return receipt.RunID
}

// sentTo is the request of a step in short.
func (w *world) sentTo(t *testing.T, run core.ID, step int) string {
	t.Helper()
	r, err := w.Request(t.Context(), local, run, step, false)
	if err != nil {
		return string(core.CodeOf(err)) + ": " + strings.ReplaceAll(err.Error(), run.String(), "RUN")
	}
	lines := []string{r.Request.System, r.Request.Tools[0].Description}
	for _, m := range r.Request.Messages {
		lines = append(lines, string(m.Role)+" "+m.Text())
	}
	return strings.Join(lines, " | ")
}

// A deployed build has other words than the one that ran a step: the step shows those that
// its model received.
func TestARequestHasTheWordsOfTheBuildThatSentIt(t *testing.T) {
	w := newWorld(t, nil)
	build(t, w, "old", w.store)
	first := w.said(t, "t", "call: echo {\"text\":\"a\"}")
	build(t, w, "new", w.store)
	second := w.said(t, "t", "again")
	for _, tt := range []struct {
		run  core.ID
		step int
		want string
	}{
		{first, 1, `Be old. | Says a text back, old. | user call: echo {"text":"a"}`},
		{first, 2, `Be old. | Says a text back, old. | user call: echo {"text":"a"} | assistant  | tool {"text":"a"}`},
		{second, 1, `Be new. | Says a text back, new. | user call: echo {"text":"a"} | assistant  | tool {"text":"a"} | assistant The result of echo: {"text":"a"} | user again`},
		{first, 3, "not_found: run RUN has no step 3 with a committed turn"},
		{core.ID{1}, 1, "not_found: run RUN not found"},
	} {
		if got := w.sentTo(t, tt.run, tt.step); got != tt.want {
			t.Errorf("step %d: %s\nwant %s", tt.step, got, tt.want)
		}
	}
}

// A fork has the requests of its own runs, and does not store what it was given again. With
// the thread that said it, a request is gone.
func TestRequestsOfAForkAndOfADeletedThread(t *testing.T) {
	w := newWorld(t, nil)
	first := w.said(t, "t", "hello")
	page, err := w.Messages(t.Context(), local, "t", host.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Fork(t.Context(), local, "t", page.Messages[1].ID, "fork"); err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteThread(t.Context(), local, "t", mailbox.ChildrenDetach); err != nil {
		t.Fatal(err)
	}
	w.drain(t)
	second := w.said(t, "fork", "more")
	if got, want := w.sentTo(t, second, 1), " | Says a text back. | user hello | assistant You said: hello | user more"; got != want {
		t.Errorf("in the fork: %s\nwant %s", got, want)
	}
	if got := w.sentTo(t, first, 1); got != "deleted: thread t was deleted" {
		t.Errorf("of the deleted thread: %s", got)
	}
	stored, err := w.store.Records(t.Context(), core.ThreadKey{Tenant: "local", Thread: "fork"}, "P#", "", 10)
	if err != nil || len(stored) != 1 {
		t.Errorf("the fork has %d records of prompts, %v", len(stored), err)
	}
}

// Two builds share a store. A turn of the one that stored no request says so, and the next
// build continues the thread.
func TestATurnOfAnOlderBuildHasNoRequest(t *testing.T) {
	w := newWorld(t, nil)
	older := &storetest.Faulty{Backend: w.store}
	older.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		c.Records = slices.DeleteFunc(slices.Clone(c.Records), func(r store.Record) bool { return strings.HasPrefix(r.Name, "P#") })
		for i, r := range c.Records {
			if r.Kind() != store.KindLog {
				continue
			}
			e, err := thread.Records{}.DecodeEntry(r.Payload)
			if err != nil {
				return store.Outcome{}, err
			}
			e.Prompt, e.Sent = "", nil
			if c.Records[i].Payload, err = (thread.Records{}).EncodeEntry(&e); err != nil {
				return store.Outcome{}, err
			}
		}
		return w.store.Commit(ctx, key, c)
	}
	kept := w.store
	build(t, w, "old", older)
	w.store = kept
	first := w.said(t, "t", "hello")
	build(t, w, "new", kept)
	second := w.said(t, "t", "more")
	want := "not_found: step 1 has no stored request: the program that ran it stored none, or the run was ended during its turn"
	if got := w.sentTo(t, first, 1); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := w.sentTo(t, second, 1), "Be new. | Says a text back, new. | user hello | assistant You said: hello | user more"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
