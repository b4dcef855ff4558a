package reveille_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
	"github.com/reveille-run/reveille/core/store/memory"
)

func newRuntime(t *testing.T, o *reveille.Options, tools ...reveille.Tool) *reveille.Runtime {
	t.Helper()
	r, err := reveille.New(guide(tools...), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What one runtime has stored, another one on the same store continues.
func TestARuntimeOnAStoreContinuesWhatAnotherBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		first, second := newRuntime(t, &reveille.Options{Store: store}), newRuntime(t, &reveille.Options{Store: store})
		receipt, err := first.Submit(t.Context(), reveille.Input{Text: "hello", Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		result, err := second.Wait(t.Context(), receipt.RunID)
		if err != nil || result.Text != "You said: hello" {
			t.Fatalf("%q, %v", result.Text, err)
		}
		result, err = second.Run(t.Context(), result.Next("again"))
		if err != nil || result.Run.ThreadID != "t" || result.Text != "You said: again" {
			t.Errorf("%+v, %v", result, err)
		}
		if again, err := first.Wait(t.Context(), receipt.RunID); err != nil || again.Text != "You said: hello" {
			t.Errorf("the first run is %q, %v", again.Text, err)
		}
	})
}

// Work takes what nothing waits for, and ends with its context.
func TestWorkTakesWhatIsSubmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuntime(t, &reveille.Options{Store: memory.New(), Workers: 2, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		worked := make(chan error, 1)
		go func() { worked <- r.Work(ctx) }()
		receipt, err := r.Submit(ctx, reveille.Input{Text: "hello", Delay: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if run, err := r.ReadRun(ctx, receipt.RunID); err != nil || run.Status == core.RunDone {
			t.Errorf("before its time the run is %s, %v", run.Status, err)
		}
		time.Sleep(time.Minute)
		if run, err := r.ReadRun(ctx, receipt.RunID); err != nil || run.Status != core.RunDone {
			t.Errorf("after its time the run is %s, %v", run.Status, err)
		}
		cancel()
		if err := <-worked; err != nil {
			t.Errorf("Work returns %v", err)
		}
	})
}

// hints is a queue that only notes its hints.
type hints struct {
	mu  sync.Mutex
	all []core.WakeUp
}

func (h *hints) Wake(_ context.Context, hint core.WakeUp, _ time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, hint)
	return nil
}

// With a queue of its own elsewhere, a runtime sends hints there and has no work to take.
func TestAQueueElsewhereReceivesTheHints(t *testing.T) {
	queue := &hints{}
	r := newRuntime(t, &reveille.Options{Store: memory.New(), Queue: queue})
	if _, err := r.Submit(t.Context(), reveille.Input{Text: "hello", Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	if len(queue.all) != 1 || queue.all[0].Tenant != "local" || queue.all[0].Thread != "t" {
		t.Errorf("the queue has %+v, want a hint of thread t of tenant local", queue.all)
	}
	if err := r.Work(t.Context()); reveille.CodeOf(err) != core.CodeInvalid {
		t.Errorf("Work returns %v, want a refusal", err)
	}
}

// An own logger receives how runs end; the default one warnings alone.
func TestWhatIsLogged(t *testing.T) {
	var own, common bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&common, nil)).With("a", 1).WithGroup("g"))
	t.Cleanup(func() { slog.SetDefault(before) })
	for _, o := range []*reveille.Options{nil, {Logger: slog.New(slog.NewTextHandler(&own, nil))}} {
		r := newRuntime(t, o)
		for _, text := range []string{"hello", "fail"} {
			_, err := r.Run(t.Context(), reveille.Input{Text: text})
			if _, failed := errors.AsType[*reveille.RunError](err); failed != (text == "fail") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	if text := own.String(); strings.Count(text, "run finished") != 2 {
		t.Errorf("the own logger has %s", text)
	}
	if text := common.String(); strings.Contains(text, "level=INFO") || !strings.Contains(text, "a=1 g.") {
		t.Errorf("the default logger has %s", text)
	}
}

func TestInputBecomesASubmission(t *testing.T) {
	var got json.RawMessage
	look := reveille.NewTool(reveille.ToolSpec{Name: "look", ReadOnly: true}, func(_ context.Context, call reveille.Call, _ struct{}) (string, error) {
		got = call.Request
		return call.User, nil
	})
	r := newRuntime(t, nil, look).As(reveille.Identity{User: "ann"})
	result, err := r.Run(t.Context(), reveille.Input{
		Messages: []reveille.Message{core.UserMessage("first")}, Text: "call: look", Request: json.RawMessage(`{"page":1}`), Agent: "guide",
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"page":1}`, string(got)); diff != "" || result.Text != "The result of look: ann" {
		t.Errorf("%q, request (-want +got):\n%s", result.Text, diff)
	}
	if texts := fmt.Sprint(result.Messages[0].Text(), ", ", result.Messages[1].Text()); texts != "first, call: look" {
		t.Errorf("the input is %s", texts)
	}
	for _, tt := range []struct {
		name string
		in   reveille.Input
		want core.Code
	}{
		{"nothing said", reveille.Input{}, core.CodeInvalid},
		{"an agent that does not exist", reveille.Input{Text: "x", Agent: "unknown"}, reveille.CodeNotFound},
		{"a mode that does not exist", reveille.Input{Text: "x", Mode: "now"}, core.CodeInvalid},
		{"a request that is no JSON", reveille.Input{Text: "x", Request: json.RawMessage(`{`)}, core.CodeInvalid},
		{"a delay that is too long", reveille.Input{Text: "x", Delay: 366 * 24 * time.Hour}, core.CodeInvalid},
	} {
		if _, err := r.Run(t.Context(), tt.in); reveille.CodeOf(err) != tt.want {
			t.Errorf("%s: %v has code %s, want %s", tt.name, err, reveille.CodeOf(err), tt.want)
		}
		if _, err := r.Submit(t.Context(), tt.in); reveille.CodeOf(err) != tt.want {
			t.Errorf("%s, submitted: %v has code %s, want %s", tt.name, err, reveille.CodeOf(err), tt.want)
		}
	}
}

// With a key, input is accepted once.
func TestAKeyMakesInputIdempotent(t *testing.T) {
	r := newRuntime(t, nil)
	in := reveille.Input{Text: "hello", Thread: "t", Key: "k"}
	first, err := r.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.Run(t.Context(), in)
	if err != nil || again.Run.ID != first.Run.ID {
		t.Errorf("the run is %s, %v, want %s again", again.Run.ID, err, first.Run.ID)
	}
	in.Text = "something else"
	if _, err := r.Run(t.Context(), in); reveille.CodeOf(err) != core.CodeConflict {
		t.Errorf("other input under the key: %v", err)
	}
}

// The first decision that is refused is the error; the same one again is none.
func TestDecisionsAreTakenInOrder(t *testing.T) {
	pay := reveille.NewTool(reveille.ToolSpec{Name: "pay", Approval: "Pay?"}, func(context.Context, reveille.Call, struct{}) (string, error) { return "paid", nil })
	parts := guide(pay)
	parts.Specs[0].ExecutionMode = "parallel_streaming"
	two := reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call("pay", nil), reveilletest.Call("pay", nil)}}
	parts.Models = reveille.Models{"m": {Model: reveilletest.Script(two, reveilletest.Turn{Text: "Done."})}}
	r, err := reveille.New(parts, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	result, err := r.Run(ctx, reveille.Input{Text: "pay twice"})
	if err != nil || len(result.Tickets) != 2 {
		t.Fatalf("%d tickets, %v", len(result.Tickets), err)
	}
	approve, deny := reveille.Approve(result.Tickets[0]), reveille.Deny(result.Tickets[1], "once is enough")
	if err := r.Decide(ctx, result.Run.ID, approve, reveille.Decision{Target: "none"}, deny); reveille.CodeOf(err) != reveille.CodeNotFound {
		t.Errorf("a ticket that does not exist: %v", err)
	}
	if err := r.Decide(ctx, result.Run.ID, approve, deny); err != nil {
		t.Errorf("the first decision again, and the second: %v", err)
	}
	if err := r.Decide(ctx, result.Run.ID, reveille.Approve(result.Tickets[1])); reveille.CodeOf(err) != core.CodeDecided {
		t.Errorf("another decision: %v", err)
	}
	result, err = r.Wait(ctx, result.Run.ID)
	var statuses []string
	for _, m := range result.Messages {
		if m.ToolResult != nil {
			statuses = append(statuses, string(m.ToolResult.Status))
		}
	}
	if diff := cmp.Diff([]string{"ok", "denied"}, statuses); err != nil || diff != "" {
		t.Errorf("%v, statuses (-want +got):\n%s", err, diff)
	}
}

// Sequences read page by page, end early where their loop does, and yield an error once.
func TestSequences(t *testing.T) {
	r := newRuntime(t, nil)
	for i := range 5 {
		if _, err := r.Run(t.Context(), reveille.Input{Text: fmt.Sprint("hello ", i), Thread: fmt.Sprint("t", i)}); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for thread, err := range r.Threads(t.Context(), reveille.ThreadQuery{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, thread.ID); len(ids) == 4 {
			break
		}
	}
	if diff := cmp.Diff([]string{"t4", "t3", "t2", "t1"}, ids); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	errs := 0
	for _, err := range r.Messages(t.Context(), "nowhere") {
		if reveille.CodeOf(err) != reveille.CodeNotFound {
			t.Errorf("messages of a thread that does not exist: %v", err)
		}
		errs++
	}
	for _, err := range r.Follow(t.Context(), core.ID{1}) {
		if reveille.CodeOf(err) != reveille.CodeNotFound {
			t.Errorf("a run that does not exist: %v", err)
		}
		errs++
	}
	if errs != 2 {
		t.Errorf("%d errors, want one of each", errs)
	}
}
