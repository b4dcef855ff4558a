package aisdk_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// sinkFunc receives the events of a run.
type sinkFunc func(core.Event) error

// fake is a scripted runtime. Every call is recorded; a call without a function
// returns zero values.
type fake struct {
	protocol.Controller // for what no route of this protocol asks
	protocol.Inbox
	protocol.Retaker
	protocol.Lister
	protocol.Viewer
	protocol.Accountant
	protocol.Catalog
	protocol.Process

	mu          sync.Mutex
	calls       []string
	submissions []mailbox.Submission
	decisions   [][]mailbox.Deciding // of each try

	submit   func(mailbox.Submission) (mailbox.Receipt, error)
	stream   func(context.Context, mailbox.Submission, sinkFunc) error
	follow   func(context.Context, core.ID, sinkFunc) error
	thread   func(core.Identity, string) (host.Thread, error)
	messages func(core.Identity, string, host.MessageQuery) (host.MessagePage, error)
	cancel   func(core.Identity, string) (core.ID, error)
	run      func(core.ID) (core.Run, error)
	decide   func(mailbox.Deciding) (mailbox.Decided, error)
	decided  []core.Event // shown after decisions

	interrupt func(core.Identity, string) (mailbox.Receipt, error)
	alone     bool // there is no default agent
}

func (f *fake) Env() *env.Env { return env.System() }

func (f *fake) DefaultAgent() string {
	if f.alone {
		return ""
	}
	return "demo"
}

func (f *fake) called(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, name)
}

func (f *fake) HasAgent(id string) bool { return id == "demo" || id == "other" }

func (f *fake) Submit(_ context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	f.called("Submit")
	f.submissions = append(f.submissions, s)
	if f.submit == nil {
		return mailbox.Receipt{ThreadID: s.Thread.Thread, RunID: runID, DispatchID: dispatchID}, nil
	}
	return f.submit(s)
}

func (f *fake) Stream(ctx context.Context, s mailbox.Submission, listener host.Listener) (mailbox.Receipt, error) {
	f.called("Stream")
	f.submissions = append(f.submissions, s)
	receipt := mailbox.Receipt{ThreadID: s.Thread.Thread, RunID: runID, DispatchID: dispatchID, Running: true}
	if f.stream == nil {
		return receipt, play(listener.Emit, echoEvents())
	}
	return receipt, f.stream(ctx, s, listener.Emit)
}

func (f *fake) DecideThread(_ context.Context, _ core.Identity, thread string, d mailbox.Deciding) (mailbox.Decided, error) {
	f.called("DecideThread")
	f.decisions = append(f.decisions, []mailbox.Deciding{d})
	return f.take(thread, d)
}

func (f *fake) InterruptThread(_ context.Context, id core.Identity, thread, _ string) (mailbox.Receipt, error) {
	f.called("InterruptThread")
	return f.interrupt(id, thread)
}

func (f *fake) take(thread string, d mailbox.Deciding) (mailbox.Decided, error) {
	if f.decide == nil {
		return mailbox.Decided{ThreadID: thread, RunID: d.Run}, nil
	}
	return f.decide(d)
}

func (f *fake) StreamDecisions(_ context.Context, _ core.Identity, thread string, all []mailbox.Deciding, listener host.Listener) (decided []mailbox.Decided, err error) {
	f.called("StreamDecisions")
	f.decisions = append(f.decisions, all)
	for _, d := range all {
		taken, err := f.take(thread, d)
		if err != nil {
			return decided, err
		}
		decided = append(decided, taken)
	}
	return decided, play(listener.Emit, f.decided)
}

func (f *fake) StreamAnswered(ctx context.Context, _ core.Identity, all []mailbox.Deciding, s mailbox.Submission, listener host.Listener) (mailbox.Receipt, error) {
	f.called("StreamAnswered")
	f.decisions = append(f.decisions, all)
	for _, d := range all {
		if _, err := f.take(s.Thread.Thread, d); err != nil {
			return mailbox.Receipt{}, err
		}
	}
	return f.Stream(ctx, s, listener)
}

func (f *fake) Approvals(context.Context, core.Identity, host.ApprovalQuery) (host.Page[host.Approval], error) {
	f.called("Approvals")
	return host.Page[host.Approval]{}, nil
}

func (f *fake) ReadRun(_ context.Context, _ core.Identity, run core.ID) (core.Run, error) {
	f.called("Run")
	if f.run == nil {
		return core.Run{}, core.Errorf(core.CodeNotFound, "run %s not found", run)
	}
	return f.run(run)
}

func (f *fake) Decide(_ context.Context, _ core.Identity, _ core.ID, d mailbox.Deciding) (mailbox.Decided, error) {
	f.called("Decide")
	return f.take("", d)
}

func (f *fake) CancelRun(context.Context, core.Identity, core.ID) error {
	f.called("CancelRun")
	return nil
}

func (f *fake) Follow(ctx context.Context, _ core.Identity, run core.ID, listener host.Listener) error {
	f.called("Follow")
	if f.follow == nil {
		return play(listener.Emit, echoEvents())
	}
	return f.follow(ctx, run, listener.Emit)
}

func (f *fake) Thread(_ context.Context, id core.Identity, thread string) (host.Thread, error) {
	f.called("Thread")
	if f.thread == nil {
		return host.Thread{}, core.Errorf(core.CodeNotFound, "thread %s not found", thread)
	}
	return f.thread(id, thread)
}

func (f *fake) Messages(_ context.Context, id core.Identity, thread string, q host.MessageQuery) (host.MessagePage, error) {
	f.called("Messages")
	if f.messages == nil {
		return host.MessagePage{}, core.Errorf(core.CodeNotFound, "thread %s not found", thread)
	}
	return f.messages(id, thread, q)
}

func (f *fake) CancelThread(_ context.Context, id core.Identity, thread string) (core.ID, error) {
	f.called("CancelThread")
	if f.cancel == nil {
		return core.ID{}, core.Errorf(core.CodeNotFound, "thread %s not found", thread)
	}
	return f.cancel(id, thread)
}

var (
	runID      = core.ID{0x01, 0x89, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 1}
	dispatchID = core.ID{0x01, 0x89, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 2}
)

func play(sink sinkFunc, events []core.Event) error {
	for _, e := range events {
		if sink(e) != nil {
			return nil // nobody listens; the run goes on
		}
	}
	return nil
}

// echoEvents is a run that calls the tool echo and says something.
func echoEvents() []core.Event {
	return []core.Event{
		{Type: core.EventRunStart, RunID: runID, ThreadID: "t1", AgentID: "demo"},
		{Type: core.EventStepStart, Step: 1},
		{Type: core.EventToolCallStart, CallID: "call_1", Name: "echo"},
		{Type: core.EventToolCallDelta, CallID: "call_1", Delta: `{"text":`},
		{Type: core.EventToolCallDelta, CallID: "call_1", Delta: `"hello"}`},
		{Type: core.EventToolCallReady, CallID: "call_1", Name: "echo", Arguments: []byte(`{"text":"hello"}`)},
		{Type: core.EventInferenceComplete, StopReason: core.StopToolUse},
		{Type: core.EventToolCallDone, CallID: "call_1", Name: "echo", Result: []byte(`{"text":"hello"}`)},
		{Type: core.EventStepEnd, Step: 1},
		{Type: core.EventStepStart, Step: 2},
		{Type: core.EventTextDelta, Delta: "Echo: "},
		{Type: core.EventTextDelta, Delta: "hello"},
		{Type: core.EventInferenceComplete, StopReason: core.StopEndTurn},
		{Type: core.EventStepEnd, Step: 2},
		{Type: core.EventRunFinish, RunID: runID, Termination: &core.Termination{Type: core.TerminationNatural}},
	}
}

// newServer is the handler with an identity in the context, as httpapi puts it
// there.
func newServer(t *testing.T, f *fake, change ...func(*aisdk.Options)) http.Handler {
	t.Helper()
	o := aisdk.Options{Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	h := aisdk.New(f, &o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := core.Identity{Tenant: "acme", User: "ann"}
		h.ServeHTTP(w, r.WithContext(core.WithIdentity(r.Context(), id)))
	})
}
