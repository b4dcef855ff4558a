package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// decide takes a decision about a call of the open round as the mailbox does: its
// record goes with the head, under the name that the head's ticket gives it. An
// empty id is made of the suspension's.
func (w *world) decide(ctx context.Context, call int, d core.Decision) error {
	head, err := w.box.Head(ctx, key)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(head.Tickets, func(t thread.Ticket) bool { return int(t.Call) == call })
	if at < 0 {
		return thread.ErrNotFound
	}
	turn := head.Run.Base - 1
	stored, _, err := w.store.Backend.Get(ctx, key, recordname.Suspension(head.Run.ID, turn, uint8(call), head.Tickets[at].ID))
	if err != nil {
		return err
	}
	var ticket thread.TicketRecord
	if err := (thread.Records{}).Decode("ticket", stored.Payload, &ticket); err != nil {
		return err
	}
	if d.ID == "" {
		d.ID = "about-" + ticket.Suspension.ID
	}
	var records thread.Records
	if len(d.Arguments) > 0 {
		records = records.Edited()
	}
	payload, err := records.Encode("decision", thread.DecisionRecord{Decision: d, Suspension: ticket.Suspension.ID})
	if err != nil {
		return err
	}
	decision := thread.DecisionKey(head.Run.ID, ticket.Suspension.ID, d.ID)
	change := thread.Decide{Run: head.Run.ID, Call: uint8(call), Ticket: head.Tickets[at].ID, Decision: decision, Resume: ticket.Resumes(d)}
	_, _, err = w.box.Commit(ctx, key, head, change, func(thread.Head, thread.Result) ([]store.Record, error) {
		return []store.Record{{Name: recordname.Decision(head.Run.ID, turn, uint8(call), decision), Payload: payload}}, nil
	})
	return err
}

// mustDecide is decide where nothing is to go wrong.
func (w *world) mustDecide(t *testing.T, call int, d core.Decision) {
	t.Helper()
	if err := w.decide(t.Context(), call, d); err != nil {
		t.Fatalf("decide about call %d: %v", call, err)
	}
}

var (
	approve = core.Decision{Action: core.DecisionResume}
	deny    = core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`{"approved":false}`), Reason: "not today"}
	cancels = core.Decision{Action: core.DecisionCancel, Reason: "too late"}
)

// asking is a gate that lets a call of the named tools wait, under the id of its
// index.
func asking(names ...string) plugin.Plugin {
	return gates(func(c plugin.GateCall) (v plugin.Verdict, err error) {
		if slices.Contains(names, c.Call.Name) {
			v = suspends(fmt.Sprintf("gate%d", c.CallIndex))
		}
		return v, nil
	})
}

func suspends(id string) plugin.Verdict {
	return plugin.Suspend(core.TicketRequest{ID: id, Action: "tool:Permission"})
}

// noted is a tool that notes each of its executions, with the decision that it
// goes on after. A call takes a second more than the one before it in its turn.
func noted(name string, did *[]string, runs func(c tool.Call) (tool.Result, error)) tool.Tool {
	var mu sync.Mutex
	return toolFunc{name: name, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		time.Sleep(time.Second * time.Duration(c.Key()[len(c.Key())-1]-'0'+1))
		line := name + " " + string(c.Arguments)
		if c.Resume != nil {
			line += " after " + c.Resume.Decision.ID
		}
		mu.Lock()
		*did = append(*did, line)
		mu.Unlock()
		if runs == nil {
			return tool.NewResult(name + " ran"), nil
		}
		return runs(c)
	}}
}

// stands is how the thread stands: the run's status and what each call of the
// open round is.
func (w *world) stands(tb testing.TB) string {
	tb.Helper()
	head := w.head(tb, key)
	if !head.Open() {
		return "over"
	}
	return fmt.Sprint(head.Run.Status, " ", head.Run.Calls)
}

// results are the committed results, one line each: status and text.
func (w *world) results(tb testing.TB) (lines []string) {
	tb.Helper()
	entries, err := threadlog.Read(tb.Context(), w.store, thread.Records{Schemas: thread.Schemas{Reads: 3}}, key, 1, w.head(tb, key).Seq)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		if e.Message == nil || e.Message.ToolResult == nil {
			continue
		}
		r := e.Message.ToolResult
		line := fmt.Sprintf("%s: %s", r.Status, r.Text())
		if e.Decision != "" {
			line += " after " + e.Decision
		}
		lines = append(lines, line)
	}
	return lines
}

// stored are the names of the records with a prefix, the run's id left out.
func (w *world) stored(tb testing.TB, prefix string, id core.ID) (names []string) {
	tb.Helper()
	records, err := w.store.Backend.Records(tb.Context(), key, prefix+id.String(), "", 100)
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range records {
		name := strings.Replace(r.Name, id.String(), "RUN", 1)
		if parts := strings.Split(name, "#"); len(parts) == 5 && parts[3] != "once" {
			parts[4] = "KEY"
			name = strings.Join(parts, "#")
		}
		names = append(names, name)
	}
	return names
}

// mishap is what happens to one write of the store.
type mishap struct {
	name   string
	stored bool // all of it is stored
	partly bool // of a commit the records are, and the head is not
	dies   bool // the process dies; otherwise it gets no response
}

var mishaps = []mishap{
	{name: "crash before", dies: true}, {name: "crash after", stored: true, dies: true}, {name: "crash between records and head", partly: true, dies: true},
	{name: "lost"}, {name: "no response", stored: true}, {name: "no response, and no head", partly: true},
}

// befall lets a mishap happen to the nth write of the store from now on; reached
// reports whether there was one.
func (w *world) befall(n int, m mishap) (reached func() bool) {
	writes := 0
	hit := func() error {
		if m.dies {
			w.store.dead.Store(true)
			return errDead
		}
		return errors.New("connection reset by peer")
	}
	w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
		if writes++; writes != n {
			return w.store.Backend.Put(ctx, key, r)
		}
		if m.stored {
			if err := w.store.Backend.Put(ctx, key, r); err != nil {
				return err
			}
		}
		return hit()
	}
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if writes++; writes != n {
			return w.store.Backend.Commit(ctx, key, c)
		}
		if m.stored {
			if outcome, err := w.store.Backend.Commit(ctx, key, c); err != nil {
				return outcome, err
			}
		}
		if m.partly {
			if err := w.store.partly(ctx, key, c); err != nil {
				return store.Outcome{}, err
			}
		}
		return store.Outcome{}, hit()
	}
	return func() bool { return writes >= n }
}

// revive starts another process when the one before has died.
func (w *world) revive(t *testing.T, o options) {
	t.Helper()
	if !w.store.dead.Load() {
		return
	}
	w.store.OnPut, w.store.OnCommit = nil, nil
	w.store.dead.Store(false)
	w.reclaim(t)
	w.stepper = w.other(t, o)
}

// work steps the thread until nothing is due, over a process that dies once.
func (w *world) work(t *testing.T, o options, sink history.Sink) {
	t.Helper()
	for range 100 {
		w.revive(t, o)
		if w.head(t, key).DueAt == 0 {
			return
		}
		head, claimed, err := w.box.Claim(t.Context(), core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}, true)
		if w.store.dead.Load() {
			continue
		}
		if err != nil || !claimed {
			t.Fatalf("claim: %v, claimed %v", err, claimed)
		}
		_, err = w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, sink)
		if err != nil && !errors.Is(err, errDead) && !errors.Is(err, thread.ErrFenced) {
			t.Fatal(err)
		}
	}
	t.Fatal("the thread is still due after 100 claims")
}

// A ticket that the store has no room for costs the call, not the run.
func TestTicketThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := strings.Repeat("x", 100_000)
		w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
			v := suspends("large")
			v.Suspend.Message = large
			return v, nil
		})}})
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if len(r.Payload) > 100_000 {
				return store.ErrTooLarge
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if results := w.results(t); len(results) != 1 || results[0] != "error: execution failed: what it waits for is too large to be stored" {
			t.Errorf("the result is %q", results)
		}
		if got := w.end(t, key, receipt); !strings.HasPrefix(got, `done 2 {"type":"natural_end"}`) {
			t.Errorf("the run is %s", got)
		}
	})
}

// Whoever decides names a suspension, and must not let another call run by it.
func TestTwoCallsDoNotWaitUnderOneSuspension(t *testing.T) {
	for _, mode := range []agent.ExecutionMode{agent.ParallelBatchApproval, agent.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{
					model: replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`), text("ok")), mode: mode,
					plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) { return suspends("ask"), nil })},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.mustDecide(t, 0, core.Decision{Action: core.DecisionResume})
				w.finish(t, key, nil)
				want := []string{
					`ok: {"text":"a"}` + " after about-ask",
					`error: execution failed: another call waits under the suspension id "ask", which must be its own: left empty, one is made`,
				}
				if diff := cmp.Diff(want, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}
