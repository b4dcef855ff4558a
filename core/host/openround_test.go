package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
)

// halfDone is a run on t1 whose round is open: of its two calls the first waits for a
// person, and the second has its result.
func halfDone(t *testing.T, over func(store.Backend) store.Backend) (*rig, *host.Host, core.Run) {
	t.Helper()
	r := newRig(t)
	p := r.process("w", over(r.store), parallel, func(c *host.Options) {
		c.Agents.Plugins, c.Agents.Specs[0].Plugins = []plugin.Plugin{asking{}}, []string{"asking"}
	})
	receipt := say(t, p, "local", "t1", "", "parallel: b, a")
	run, err := p.ReadRun(t.Context(), local, receipt.RunID)
	if err != nil || run.Status != core.RunWaiting || len(run.Tickets) != 1 {
		t.Fatalf("%+v, %v", run, err)
	}
	return r, p, run
}

func itself(s store.Backend) store.Backend { return s }

func allow(run core.Run) mailbox.Deciding {
	return mailbox.Deciding{Target: run.Tickets[0].Suspension.ID, Decision: core.Decision{Action: core.DecisionResume}}
}

// texts are a page's messages: of results their data.
func texts(page host.MessagePage) (all []string) {
	for _, m := range page.Messages {
		switch {
		case m.ToolResult != nil:
			data, _ := json.Marshal(m.ToolResult.Data)
			all = append(all, string(data))
		case len(m.ToolCalls) > 0:
			all = append(all, "calls")
		default:
			all = append(all, m.Text())
		}
	}
	return all
}

func TestAResultOfAnOpenRoundIsReadEarly(t *testing.T) {
	_, p, run := halfDone(t, itself)
	for _, test := range []struct {
		name string
		q    host.MessageQuery
		want []string
	}{
		{"forwards", host.MessageQuery{}, []string{"parallel: b, a", "calls", `{"text":"a"}`}},
		{"behind the turn", host.MessageQuery{After: 2}, []string{`{"text":"a"}`}},
		{"behind its place", host.MessageQuery{After: 4}, nil},
		{"the newest", host.MessageQuery{Newest: true}, []string{"parallel: b, a", "calls", `{"text":"a"}`}},
		{"backwards", host.MessageQuery{Descending: true}, []string{`{"text":"a"}`, "calls", "parallel: b, a"}},
		{"of the run", host.MessageQuery{Run: run.ID}, []string{"parallel: b, a", "calls", `{"text":"a"}`}},
	} {
		page, err := p.Messages(t.Context(), local, "t1", test.q)
		if diff := cmp.Diff(test.want, texts(page)); diff != "" || err != nil || page.Next != 0 {
			t.Errorf("%s: %v, next %d (-want +got):\n%s", test.name, err, page.Next, diff)
		}
	}
}

func TestTheCallsOfAnOpenRoundHaveTheirStatus(t *testing.T) {
	_, p, run := halfDone(t, itself)
	page, err := p.Steps(t.Context(), local, run.ID, host.StepQuery{})
	if err != nil || len(page.Steps) != 1 || len(page.Steps[0].Calls) != 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	step := page.Steps[0]
	if b := step.Calls[0]; b.Status != "suspended" || b.Result != nil || b.Ended != 0 {
		t.Errorf("the call that waits is %+v", b)
	}
	if a := step.Calls[1]; a.Status != "ok" || a.Result == nil || a.Ended == 0 || step.Ended != 0 {
		t.Errorf("the call that is done is %+v, its step ended at %d", a, step.Ended)
	}
	// Decided, and not yet taken up.
	if _, err := p.Decide(t.Context(), local, run.ID, allow(run)); err != nil {
		t.Fatal(err)
	}
	if page, err = p.Steps(t.Context(), local, run.ID, host.StepQuery{}); err != nil || page.Steps[0].Calls[0].Status != "resuming" {
		t.Errorf("the call that was allowed is %+v, %v", page.Steps, err)
	}
	// A page that ends before the open round says nothing of it.
	if page, err = p.Steps(t.Context(), local, run.ID, host.StepQuery{After: 99}); err != nil || len(page.Steps) != 0 {
		t.Errorf("from beyond the end: %+v, %v", page.Steps, err)
	}
}

// gap is a store whose log has lost a record of the open round.
type gap struct{ store.Backend }

func (g gap) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for record, err := range g.Backend.Log(ctx, key, from, to) {
			if seq, _ := record.LogSeq(); seq == 4 && err == nil {
				continue
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

func TestAResultThatTheHeadMarksDoneAndIsMissingIsDamage(t *testing.T) {
	r, _, run := halfDone(t, itself)
	p := r.process("reader", gap{r.store}, parallel)
	for name, call := range map[string]func() error{
		"messages": func() error { _, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{}); return err },
		"newest": func() error {
			_, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{Newest: true})
			return err
		},
		"backwards": func() error {
			_, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{Descending: true})
			return err
		},
		"steps": func() error { _, err := p.Steps(t.Context(), local, run.ID, host.StepQuery{}); return err },
	} {
		if err := call(); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	var got events
	if err := p.Follow(t.Context(), local, run.ID, host.ListenerFunc(got.sink)); err != nil || got.lines[len(got.lines)-1] != "run_yield" {
		t.Errorf("a stream of it ends with %q, %v", got.lines, err)
	}
}

// A record in the place of a result that is none is damage as well, and one whose call is
// not done does not count, whatever it is.
func TestWhatLiesInAReservedPlaceMustBeAResult(t *testing.T) {
	for _, test := range []struct {
		seq     uint64
		corrupt bool
	}{{3, false}, {4, true}} {
		r, p, run := halfDone(t, itself)
		m := core.UserMessage("not a result").WithID("m")
		payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Run: run.ID, Message: &m})
		if err != nil {
			t.Fatal(err)
		}
		key := core.ThreadKey{Tenant: "local", Thread: "t1"}
		if err := r.store.Put(t.Context(), key, store.Record{Name: store.LogName(test.seq), Fence: 99, Payload: payload}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{}); errors.Is(err, store.ErrCorrupt) != test.corrupt {
			t.Errorf("at %d: %v", test.seq, err)
		}
	}
}

// A stream that comes late has the early result too, in its place in the round, and the
// ticket that stands; when the decision comes, neither comes again.
func TestAFollowerOfAnOpenRoundIsShownItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, run := halfDone(t, itself)
		var late events
		if err := p.Follow(t.Context(), local, run.ID, host.ListenerFunc(late.sink)); err != nil {
			t.Fatal(err)
		}
		tail := late.lines[len(late.lines)-3:]
		want := []string{`tool_call_done echo {"text":"a"}`, "tool_call_suspended echo", `run_finish {"type":"suspended"}`}
		if diff := cmp.Diff(want, tail); diff != "" {
			t.Errorf("a late stream ends with (-want +got):\n%s", diff)
		}
		var decided events
		if _, err := p.StreamDecisions(t.Context(), local, "t1", []mailbox.Deciding{allow(run)}, host.ListenerFunc(decided.sink)); err != nil {
			t.Fatal(err)
		}
		for _, line := range decided.lines {
			if line == want[0] || line == want[1] {
				t.Errorf("%q comes again", line)
			}
		}
		if last := decided.lines[len(decided.lines)-1]; last != `run_finish {"type":"natural_end"}` {
			t.Errorf("it ends with %q", last)
		}
	})
}

// Decisions and then input in one request: the run reads both in one step.
func TestDecisionsAndInputAreReadInOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p, run := halfDone(t, itself)
		var got events
		done := make(chan error)
		go func() {
			receipt, err := p.StreamAnswered(t.Context(), local, []mailbox.Deciding{allow(run)}, submission("t1", "and hello"), host.ListenerFunc(got.sink))
			if err == nil && receipt.RunID != run.ID {
				err = errors.New("the input is another run's")
			}
			done <- err
		}()
		synctest.Wait() // the input has joined the run, whose hint brings a worker
		r.settle(p, core.ThreadKey{Tenant: "local", Thread: "t1"})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		page, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{})
		want := []string{"parallel: b, a", "calls", `{"text":"b"}`, `{"text":"a"}`, "and hello", "You said: and hello"}
		if diff := cmp.Diff(want, texts(page)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if last := got.lines[len(got.lines)-1]; last != `run_finish {"type":"natural_end"}` {
			t.Errorf("it ends with %q", last)
		}
	})
}

// What is refused leaves the run as it was: a submission before the decisions, a decision
// before the submission.
func TestARefusedAnswerChangesNothing(t *testing.T) {
	_, p, run := halfDone(t, itself)
	nothing := host.ListenerFunc(func(e core.Event) error { t.Errorf("%s is shown", e.Type); return nil })
	unknown := submission("t1", "hello")
	unknown.Opening.AgentID = "nobody"
	if _, err := p.StreamAnswered(t.Context(), local, []mailbox.Deciding{allow(run)}, unknown, nothing); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("an unknown agent: %v", err)
	}
	empty := submission("t1", "")
	empty.Messages = nil
	if _, err := p.StreamAnswered(t.Context(), local, []mailbox.Deciding{allow(run)}, empty, nothing); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("no input: %v", err)
	}
	wrong := allow(run)
	wrong.Target = "none"
	if _, err := p.StreamAnswered(t.Context(), local, []mailbox.Deciding{wrong}, submission("t1", "hello"), nothing); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("a decision on nothing: %v", err)
	}
	if _, err := p.StreamDecisions(t.Context(), local, "t1", nil, nothing); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("no decisions: %v", err)
	}
	two := []mailbox.Deciding{allow(run), allow(run)}
	two[0].Run, two[1].Run = core.ID{1}, core.ID{2}
	if _, err := p.StreamDecisions(t.Context(), local, "t1", two[:1], nothing); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("a decision on another run: %v", err)
	}
	now, err := p.ReadRun(t.Context(), local, run.ID)
	if diff := cmp.Diff(run, now); diff != "" || err != nil {
		t.Errorf("%v, the run has changed (-before +after):\n%s", err, diff)
	}
	if page, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{}); err != nil || len(page.Messages) != 3 {
		t.Errorf("the thread has %q, %v", texts(page), err)
	}
}

// A client that decides is greeted with what the thread has by then, its run included.
func TestAClientThatDecidesIsGreeted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, run := halfDone(t, itself)
		client := &choosing{wants: map[core.EventType]bool{core.EventMessagesSnapshot: true}}
		if _, err := p.StreamDecisions(t.Context(), local, "t1", []mailbox.Deciding{allow(run)}, client); err != nil {
			t.Fatal(err)
		}
		if got := about(client.events); len(got) < 2 || got[0] != "run_start" || got[1] != "messages user:parallel: b, a assistant: tool:{\"text\":\"a\"}" {
			t.Errorf("the client is greeted with %q", got)
		}
	})
}
