package httpapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// sinkFunc receives the events of a run.
type sinkFunc func(core.Event) error

// fake is a scripted runtime. Every call is recorded; a call without a function
// finds nothing.
type fake struct {
	protocol.Lister
	protocol.Viewer
	protocol.Accountant
	protocol.Catalog
	mu          sync.Mutex // of calls
	calls       []string
	submissions []mailbox.Submission

	submit       func(mailbox.Submission) (mailbox.Receipt, error)
	stream       func(context.Context, sinkFunc) error
	follow       func(core.Identity, sinkFunc) error
	thread       func(core.Identity) (host.Thread, error)
	messages     func(core.Identity, host.MessageQuery) (host.MessagePage, error)
	run          func(core.Identity) (core.Run, error)
	approvals    func(core.Identity, host.ApprovalQuery) (host.Page[host.Approval], error)
	cancelRun    func(core.Identity) error
	cancelThread func(core.Identity) error
	decide       func(mailbox.Deciding) (mailbox.Decided, error)
	decisions    []mailbox.Deciding

	active    func() (core.Run, bool, error)
	interrupt func(key string) (mailbox.Receipt, error)
	retry     func() (mailbox.Receipt, error)
	remove    func() error // of a thread or an input
	edit      func([]core.Message) error
	healthy   func() error
	ready     func(context.Context) error
	alone     bool // there is no default agent
	list      func(mailbox.ListQuery) (mailbox.ListPage, error)
}

var errAbsent = core.Errorf(core.CodeNotFound, "partition acme#t1 is empty")

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
		return receipt, play(listener.Emit, hello())
	}
	return receipt, f.stream(ctx, listener.Emit)
}

func (f *fake) StreamAnswered(context.Context, core.Identity, []mailbox.Deciding, mailbox.Submission, host.Listener) (mailbox.Receipt, error) {
	return mailbox.Receipt{}, errors.New("not faked")
}

func (f *fake) StreamDecisions(context.Context, core.Identity, string, []mailbox.Deciding, host.Listener) ([]mailbox.Decided, error) {
	f.called("StreamDecisions")
	return nil, errAbsent
}

func (f *fake) Follow(_ context.Context, id core.Identity, run core.ID, listener host.Listener) error {
	f.called("Follow " + run.String())
	if f.follow == nil {
		return errAbsent
	}
	return f.follow(id, listener.Emit)
}

func (f *fake) Thread(_ context.Context, id core.Identity, thread string) (host.Thread, error) {
	f.called("Thread " + thread)
	if f.thread == nil {
		return host.Thread{}, errAbsent
	}
	return f.thread(id)
}

func (f *fake) Messages(_ context.Context, id core.Identity, thread string, q host.MessageQuery) (host.MessagePage, error) {
	f.called("Messages " + thread)
	if f.messages == nil {
		return host.MessagePage{}, errAbsent
	}
	return f.messages(id, q)
}

func (f *fake) ReadRun(_ context.Context, id core.Identity, run core.ID) (core.Run, error) {
	f.called("Run " + run.String())
	if f.run == nil {
		return core.Run{}, errAbsent
	}
	return f.run(id)
}

func (f *fake) DescribeRun(ctx context.Context, id core.Identity, run core.ID) (core.Run, error) {
	return f.ReadRun(ctx, id, run)
}

func (f *fake) Approvals(_ context.Context, id core.Identity, q host.ApprovalQuery) (host.Page[host.Approval], error) {
	f.called("Approvals")
	if f.approvals == nil {
		return host.Page[host.Approval]{}, nil
	}
	return f.approvals(id, q)
}

func (f *fake) CancelRun(_ context.Context, id core.Identity, run core.ID) error {
	f.called("CancelRun " + run.String())
	if f.cancelRun == nil {
		return errAbsent
	}
	return f.cancelRun(id)
}

func (f *fake) CancelThread(_ context.Context, id core.Identity, thread string) (core.ID, error) {
	f.called("CancelThread " + thread)
	if f.cancelThread == nil {
		return core.ID{}, errAbsent
	}
	return runID, f.cancelThread(id)
}

func (f *fake) Decide(_ context.Context, _ core.Identity, run core.ID, d mailbox.Deciding) (mailbox.Decided, error) {
	f.called("Decide " + run.String())
	return f.decided(d)
}

func (f *fake) DecideThread(_ context.Context, _ core.Identity, thread string, d mailbox.Deciding) (mailbox.Decided, error) {
	f.called("DecideThread " + thread)
	return f.decided(d)
}

func (f *fake) decided(d mailbox.Deciding) (mailbox.Decided, error) {
	f.decisions = append(f.decisions, d)
	if f.decide == nil {
		return mailbox.Decided{}, errAbsent
	}
	return f.decide(d)
}

func (f *fake) ActiveRun(_ context.Context, _ core.Identity, thread string) (core.Run, bool, error) {
	f.called("ActiveRun " + thread)
	if f.active == nil {
		return core.Run{}, false, errAbsent
	}
	return f.active()
}

func (f *fake) InterruptThread(_ context.Context, _ core.Identity, thread, key string) (mailbox.Receipt, error) {
	f.called("InterruptThread " + thread)
	if f.interrupt == nil {
		return mailbox.Receipt{}, errAbsent
	}
	return f.interrupt(key)
}

func (f *fake) RetryRun(_ context.Context, _ core.Identity, run core.ID) (mailbox.Receipt, error) {
	f.called("RetryRun " + run.String())
	if f.retry == nil {
		return mailbox.Receipt{}, errAbsent
	}
	return f.retry()
}

func (f *fake) DeleteThread(_ context.Context, _ core.Identity, thread string, _ mailbox.Children) error {
	f.called("DeleteThread " + thread)
	if f.remove == nil {
		return errAbsent
	}
	return f.remove()
}

func (f *fake) Mailbox(_ context.Context, _ core.Identity, thread string, q mailbox.ListQuery) (mailbox.ListPage, error) {
	f.called("Mailbox " + thread)
	if f.list == nil {
		return mailbox.ListPage{}, errAbsent
	}
	return f.list(q)
}

func (f *fake) SubmitTo(_ context.Context, _ core.Identity, run core.ID, s mailbox.Submission) (mailbox.Receipt, error) {
	f.called("SubmitTo " + run.String())
	f.submissions = append(f.submissions, s)
	if f.submit == nil {
		return mailbox.Receipt{}, errAbsent
	}
	return f.submit(s)
}

func (f *fake) EditInput(_ context.Context, _ core.Identity, thread string, input core.ID, messages []core.Message) error {
	f.called("EditInput " + thread + " " + input.String())
	if f.edit == nil {
		return errAbsent
	}
	return f.edit(messages)
}

func (f *fake) RunOfKey(context.Context, core.Identity, string, string) (core.ID, bool, error) {
	return core.ID{}, false, nil
}

func (f *fake) DefaultAgent() string {
	if f.alone {
		return ""
	}
	return "demo"
}

func (f *fake) Env() *env.Env { return env.System() }

func (f *fake) Healthy() error {
	if f.healthy == nil {
		return nil
	}
	return f.healthy()
}

func (f *fake) Ready(ctx context.Context) error {
	if f.ready == nil {
		return nil
	}
	return f.ready(ctx)
}

func (f *fake) RetractInput(_ context.Context, _ core.Identity, thread string, input core.ID) error {
	f.called("RetractInput " + thread + " " + input.String())
	if f.remove == nil {
		return errAbsent
	}
	return f.remove()
}

const (
	runText      = "01890000-0000-7000-8000-000000000001"
	dispatchText = "01890000-0000-7000-8000-000000000002"
)

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

// at is an event with its position, offset being "step.attempt.block-end-kind".
func at(offset string, e core.Event) core.Event {
	e.Position = runText + "." + offset
	return e
}

// hello is a run of one step.
func hello() []core.Event {
	return []core.Event{
		at("1.3.0-0-a", core.Event{Type: core.EventRunStart, RunID: runID, ThreadID: "t1", AgentID: "demo"}),
		at("1.3.0-0-b", core.Event{Type: core.EventStepStart, Step: 1}),
		at("1.3.0-3-f", core.Event{Type: core.EventTextDelta, Delta: "Hel"}),
		at("1.3.0-5-f", core.Event{Type: core.EventTextDelta, Delta: "lo"}),
		at("1.3.9999-0-k", core.Event{Type: core.EventStepEnd, Step: 1}),
		at("1.3.9999-0-m", core.Event{Type: core.EventRunFinish, RunID: runID, Termination: &core.Termination{Type: core.TerminationNatural}}),
	}
}

// newServer is the handler over a fake runtime; everybody is ann of acme.
func newServer(f protocol.Host, change ...func(*httpapi.Options)) http.Handler {
	o := httpapi.Options{
		Log:          slog.New(slog.DiscardHandler),
		Authenticate: func(*http.Request) (core.Identity, error) { return core.Identity{Tenant: "acme", User: "ann"}, nil },
	}
	for _, c := range change {
		c(&o)
	}
	return httpapi.New(f, &o)
}

// do sends a request, with a JSON content type unless a header says otherwise.
func do(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

// check compares a response with a status and a body, which is one line of JSON.
func check(t *testing.T, rec *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if rec.Code != status {
		t.Errorf("status %d, want %d", rec.Code, status)
	}
	if diff := cmp.Diff(body, strings.TrimSuffix(rec.Body.String(), "\n")); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if got := rec.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q, want JSON", got)
	}
}

// silent fails the test if the runtime was called.
func silent(t *testing.T, f *fake) {
	t.Helper()
	if len(f.calls) != 0 {
		t.Errorf("the runtime was called: %v", f.calls)
	}
}
