package host_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

var t1 = core.ThreadKey{Tenant: "local", Thread: "t1"}

func allTexts(t *testing.T, p *host.Host, thread string) []string {
	t.Helper()
	page, err := p.Messages(t.Context(), local, thread, host.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return texts(page)
}

func TestInputThatNoStepHasReadIsEditedAndWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.process("w", r.store)
		var queued []mailbox.Receipt
		for _, text := range []string{"one", "two", "three"} {
			receipt, err := p.Submit(t.Context(), submission("t1", text))
			if err != nil {
				t.Fatal(err)
			}
			queued = append(queued, receipt)
		}
		if err := p.EditInput(t.Context(), local, "t1", queued[1].DispatchID, []core.Message{core.UserMessage("zwei")}); err != nil {
			t.Fatal(err)
		}
		if err := p.RetractInput(t.Context(), local, "t1", queued[2].DispatchID); err != nil {
			t.Fatal(err)
		}
		r.settle(p, t1)
		want := []string{"one", "You said: one", "zwei", "You said: zwei"}
		if diff := cmp.Diff(want, allTexts(t, p, "t1")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err := p.EditInput(t.Context(), local, "t1", queued[0].DispatchID, []core.Message{core.UserMessage("eins")}); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("an edit of what was read: %v", err)
		}
		if err := p.RetractInput(t.Context(), local, "t1", queued[2].DispatchID); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("what was withdrawn is withdrawn again: %v", err)
		}
	})
}

func TestAnInterruptEndsAllThatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.process("w", r.store)
		for _, text := range []string{"one", "two", "three"} {
			if _, err := p.Submit(t.Context(), submission("t1", text)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := p.InterruptThread(t.Context(), local, "t1", "k")
		if err != nil || got.Superseded != 3 || got.Duplicate {
			t.Errorf("interrupted %+v, %v", got, err)
		}
		if again, err := p.InterruptThread(t.Context(), local, "t1", "k"); err != nil || !again.Duplicate {
			t.Errorf("the same again: %+v, %v", again, err)
		}
		r.settle(p, t1)
		if _, err := p.InterruptThread(t.Context(), local, "t1", ""); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("nothing is left to interrupt: %v", err)
		}
		if _, err := p.CancelThread(t.Context(), local, "t1"); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("nothing is left to cancel: %v", err)
		}
	})
}

func TestCancelEndsTheOpenRunOrTheFirstQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.process("w", r.store)
		var runs []core.ID
		for _, text := range []string{"one", "two"} {
			receipt, err := p.Submit(t.Context(), submission("t1", text))
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, receipt.RunID)
		}
		if ended, err := p.CancelThread(t.Context(), local, "t1"); err != nil || ended != runs[0] {
			t.Errorf("cancelled %s, %v", ended, err)
		}
		if err := p.CancelRun(t.Context(), local, runs[1]); err != nil {
			t.Error(err)
		}
		r.settle(p, t1)
		for _, id := range runs {
			run, err := p.ReadRun(t.Context(), local, id)
			if err != nil || run.Termination == nil || run.Termination.Type != core.TerminationCancelled {
				t.Errorf("%+v, %v", run, err)
			}
		}
		if err := p.CancelRun(t.Context(), local, runs[1]); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("cancelled again: %v", err)
		}
	})
}

func TestInputForARunIsReadByItOrOpensAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := confirming(t, r.store, func(c *host.Options) { c.Waker = r.queue })
		open := ask(t, p, "local", "t1", "", fmt.Sprintf(confirmed, "one"))
		input := func(text string) mailbox.Submission {
			return mailbox.Submission{Messages: []core.Message{core.UserMessage(text)}}
		}
		steered, err := p.SubmitTo(t.Context(), local, open.RunID, input("more"))
		if err != nil || steered.RunID != open.RunID {
			t.Errorf("input for an open run is read by %+v, %v", steered, err)
		}
		later := input("later")
		later.Opening.Delay = time.Minute
		if delayed, err := p.SubmitTo(t.Context(), local, open.RunID, later); err != nil || delayed.RunID == open.RunID {
			t.Errorf("input for later is read by %+v, %v", delayed, err)
		}
		queue := input("queued")
		queue.Mode = mailbox.ModeQueue
		if queued, err := p.SubmitTo(t.Context(), local, open.RunID, queue); err != nil || queued.RunID == open.RunID {
			t.Errorf("queued input is read by %+v, %v", queued, err)
		}
		r.settle(p, t1)
		if next, err := p.SubmitTo(t.Context(), local, open.RunID, input("after")); err != nil || next.RunID == open.RunID {
			t.Errorf("input for a run that is over is read by %+v, %v", next, err)
		}
		r.settle(p, t1)
		said := slices.DeleteFunc(allTexts(t, p, "t1"), func(text string) bool { return !strings.HasPrefix(text, "You said: ") })
		want := []string{"You said: more", "You said: queued", "You said: later", "You said: after"}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		other := input("by another")
		other.Opening.AgentID = "nobody"
		if _, err := p.SubmitTo(t.Context(), local, open.RunID, other); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("an unknown agent: %v", err)
		}
	})
}

func TestAThreadIsForkedAndARunTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.process("w", r.store)
		say(t, p, "local", "t1", "", "one")
		failed := say(t, p, "local", "t1", "", "fail")
		page, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{})
		if err != nil {
			t.Fatal(err)
		}
		made, err := p.Fork(t.Context(), local, "t1", page.Messages[1].ID, "t2")
		if err != nil || made.ThreadID != "t2" || made.Messages != 2 {
			t.Errorf("forked %+v, %v", made, err)
		}
		if diff := cmp.Diff([]string{"one", "You said: one"}, allTexts(t, p, "t2")); diff != "" {
			t.Errorf("the fork (-want +got):\n%s", diff)
		}
		again, err := p.TakeUp(t.Context(), local, failed.RunID)
		if err != nil || again.RunID == failed.RunID {
			t.Errorf("taken up %+v, %v", again, err)
		}
		if _, err := p.RetryRun(t.Context(), local, failed.RunID); err == nil {
			t.Error("a run that was not dead-lettered is retried")
		}
	})
}

func TestADeletedThreadIsGoneForItsReaders(t *testing.T) {
	r := newRig(t)
	p := r.process("w", r.store)
	receipt := say(t, p, "local", "t1", "", "one")
	if err := p.DeleteThread(t.Context(), local, "t1", "orphan"); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("an unknown fate of its children: %v", err)
	}
	if err := p.DeleteThread(t.Context(), local, "t1", mailbox.ChildrenDetach); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Thread(t.Context(), local, "t1"); core.CodeOf(err) != core.CodeDeleted {
		t.Errorf("the thread: %v", err)
	}
	if _, err := p.ReadRun(t.Context(), local, receipt.RunID); core.CodeOf(err) != core.CodeDeleted {
		t.Errorf("its run: %v", err)
	}
	if page, err := p.Threads(t.Context(), local, host.ThreadQuery{}); err != nil || len(page.Items) != 0 {
		t.Errorf("threads %v, %v", threadNames(page), err)
	}
	if page, err := p.Runs(t.Context(), local, host.RunQuery{}); err != nil || len(page.Items) != 0 {
		t.Errorf("runs %v, %v", page.Items, err)
	}
}

// Metadata is changed by merge patches, and has one form.
func TestTheMetadataOfAThreadIsMerged(t *testing.T) {
	r := newRig(t)
	p := r.process("w", r.store)
	info, err := p.CreateThread(t.Context(), local, host.NewThread{ID: "t1", Title: "T", Metadata: json.RawMessage(` {"b": 1, "a": {"x": 12345678901234567890}} `)})
	if err != nil || string(info.Metadata) != `{"a":{"x":12345678901234567890},"b":1}` || info.Title != "T" {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, test := range []struct{ change, want string }{
		{`{"b":null,"c":[1]}`, `{"a":{"x":12345678901234567890},"c":[1]}`},
		{`{"a":{"y":true},"c":{"z":1}}`, `{"a":{"x":12345678901234567890,"y":true},"c":{"z":1}}`},
		{`{"a":{"x":null,"y":null}}`, `{"a":{},"c":{"z":1}}`},
		{`{"a":7,"c":null}`, `{"a":7}`},
		{`{"a":null}`, ``},
		{`{"new":"n"}`, `{"new":"n"}`},
		{`null`, ``},
	} {
		got, err := p.UpdateThread(t.Context(), local, "t1", host.ThreadChange{Metadata: json.RawMessage(test.change)})
		if err != nil || string(got.Metadata) != test.want || got.Title != "T" {
			t.Errorf("%s leads to %s titled %q, %v, want %s", test.change, got.Metadata, got.Title, err, test.want)
		}
	}
	title := "U"
	if got, err := p.UpdateThread(t.Context(), local, "t1", host.ThreadChange{Title: &title}); err != nil || got.Title != "U" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{`[]`, `{} {}`, `{`, `7`} {
		if _, err := p.UpdateThread(t.Context(), local, "t1", host.ThreadChange{Metadata: json.RawMessage(bad)}); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s: %v", bad, err)
		}
		if _, err := p.CreateThread(t.Context(), local, host.NewThread{ID: "t2", Metadata: json.RawMessage(bad)}); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("created with %s: %v", bad, err)
		}
	}
	if _, err := p.CreateThread(t.Context(), local, host.NewThread{ID: "t1"}); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("created again: %v", err)
	}
}

// A thread says how it stands: what is open, queued and delayed.
func TestAThreadSaysHowItStands(t *testing.T) {
	r := newRig(t)
	p := confirming(t, r.store)
	ask(t, p, "local", "t1", "", fmt.Sprintf(confirmed, "one"))
	later := submission("t1", "later")
	later.Opening.Delay = time.Hour
	if _, err := p.Submit(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	info, err := p.Thread(t.Context(), local, "t1")
	if err != nil || info.ActiveRun.IsZero() || info.Status != core.RunWaiting || info.Delayed != 1 || info.Queued != 0 || info.Messages != 2 || info.Created == 0 || info.AgentID != "demo" {
		t.Errorf("%+v, %v", info, err)
	}
}
