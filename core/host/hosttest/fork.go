package hosttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Fork forks a thread at several messages, of which some are superseded: each fork continues
// from its message, with the state of that time, and the first thread does not change.
func (o Options) Fork(t *testing.T) {
	w := newWorld(t, o)
	program := w.sayer(t)
	ids := map[string]string{}
	for i, s := range sayings[:4] {
		w.complete(program, theThread.Thread, mailbox.Submission{Messages: []core.Message{core.UserMessage(s.text)}, Opening: mailbox.Opening{Supersede: s.supersede}})
		for _, m := range w.all(program, theThread.Thread) {
			ids[fmt.Sprint(i, " ", m.Text())] = m.ID
		}
	}
	before := w.contents()
	fork := func(at, to string) (mailbox.Forked, error) {
		return program.Fork(t.Context(), ann, theThread.Thread, at, to)
	}
	for _, test := range []struct {
		at       string
		messages uint64 // log records
		has      []string
		steps    string // after the fork's first run
	}{
		{"one", 1, []string{"one"}, `add 1`},
		{"re: one", 3, []string{"one", "re: one"}, `replace 2`},
		{"two again", 11, []string{"one", "re: one", "two again"}, `replace 2`},
		{"re: two again", 13, []string{"one", "re: one", "two again", "re: two again"}, `replace 3`},
	} {
		to := "fork-" + fmt.Sprint(test.messages)
		for _, duplicate := range []bool{false, true} {
			made, err := fork(ids["3 "+test.at], to)
			if want := (mailbox.Forked{ThreadID: to, Messages: test.messages, Duplicate: duplicate}); err != nil || made != want {
				t.Fatalf("fork at %q: %+v, %v; want %+v", test.at, made, err, want)
			}
		}
		if got := texts(w.all(program, to)); !slices.Equal(got, test.has) {
			t.Errorf("the fork at %q has %q, want %q", test.at, got, test.has)
		}
		if last := w.all(program, to); last[len(last)-1].ID != ids["3 "+test.at] {
			t.Errorf("the last message of the fork at %q is called %s", test.at, last[len(last)-1].ID)
		}
		w.complete(program, to, mailbox.Submission{Messages: []core.Message{core.UserMessage("on")}})
		if got, want := texts(w.all(program, to)), append(slices.Clone(test.has), "on", "re: on"); !slices.Equal(got, want) {
			t.Errorf("the fork at %q continues to %q, want %q", test.at, got, want)
		}
		if got := w.lastChange(to); got != test.steps {
			t.Errorf("the fork at %q counts %s, want %s", test.at, got, test.steps)
		}
		w.complete(program, to, mailbox.Submission{Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: ids["3 one"]}}}) // of a run that the fork has no record of
		if got, want := texts(w.all(program, to)), []string{"one", "re: one"}; !slices.Equal(got, want) {
			t.Errorf("the fork at %q, after all but its first message is superseded, has %q, want %q", test.at, got, want)
		}
	}
	w.refusesForks(ids, fork)
	if diff := slices.Compare(before, w.contents()); diff != 0 {
		t.Error("the forks have changed the thread")
	}
}

func (w *world) refusesForks(ids map[string]string, fork func(at, to string) (mailbox.Forked, error)) {
	w.t.Helper()
	for _, test := range []struct {
		name, at, to string
		want         core.Code
	}{
		{"a superseded message", ids["2 two"], "new", core.CodeSuperseded},
		{"a superseded response", ids["2 re: three"], "new", core.CodeSuperseded},
		{"no message", "nobody", "new", core.CodeNotFound},
		{"the name of another fork", ids["3 one"], "fork-13", core.CodeConflict},
		{"the name of the thread", ids["3 one"], theThread.Thread, core.CodeConflict},
		{"an invalid name", ids["3 one"], "a#b", core.CodeInvalid},
	} {
		if made, err := fork(test.at, test.to); core.CodeOf(err) != test.want {
			w.t.Errorf("fork at %s: %+v, %v; want %s", test.name, made, err, test.want)
		}
	}
	if head, err := w.store.Head(w.t.Context(), core.ThreadKey{Tenant: theThread.Tenant, Thread: "new"}); err != nil || head.Exists() {
		w.t.Errorf("a refused fork has a head: %+v, %v", head, err)
	}
}

// complete submits to a thread on ann's behalf and takes the run to its end.
func (w *world) complete(program *host.Host, threadID string, s mailbox.Submission) {
	w.t.Helper()
	s.Thread, s.User, s.Opening.AgentID = core.ThreadKey{Tenant: theThread.Tenant, Thread: threadID}, ann.User, "sayer"
	if _, err := program.Submit(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	for hint, ok := w.receive(); ok; hint, ok = w.receive() {
		if err := program.WorkBatch(w.t.Context(), []core.WakeUp{hint})[0]; err != nil {
			w.t.Fatal(err)
		}
	}
}

// all are the messages of a thread.
func (w *world) all(program *host.Host, threadID string) []core.Message {
	w.t.Helper()
	page, err := program.Messages(w.t.Context(), ann, threadID, host.MessageQuery{Limit: 200})
	if err != nil {
		w.t.Fatal(err)
	}
	return page.Messages
}

func texts(messages []core.Message) (all []string) {
	for _, m := range messages {
		all = append(all, m.Text())
	}
	return all
}

// lastChange is what the newest record of a thread changes of its state.
func (w *world) lastChange(threadID string) string {
	w.t.Helper()
	key := core.ThreadKey{Tenant: theThread.Tenant, Thread: threadID}
	head, err := w.store.Head(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	entries, err := threadlog.Read(w.t.Context(), w.store, thread.Records{}, key, head.Seq, head.Seq)
	if err != nil {
		w.t.Fatal(err)
	}
	var changes []string
	for _, op := range entries[0].Patch {
		changes = append(changes, fmt.Sprintf("%s %s", op.Op, op.Value))
	}
	return strings.Join(changes, ", ")
}
