package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

// real is the handler, with the AI SDK mounted, over the runtime on the memory
// store. Nobody works on the queue until the test does; everybody is who the
// header User says, of the tenant secret-tenant or that of the header Tenant.
type real struct {
	t *testing.T
	http.Handler
	queue   *mailboxtest.Queue
	runtime *host.Host
	store   *refusing
	options httpapi.Options
	during  func() // what the tool meanwhile does
	user    string // who sends what says nothing of a user
}

// refusing is a store that refuses every commit with an error, if there is one, and
// every read with another.
type refusing struct {
	store.Backend
	refuse error
	unread error
}

func (s *refusing) Head(ctx context.Context, key core.ThreadKey) (store.Head, error) {
	if s.unread != nil {
		return store.Head{}, s.unread
	}
	return s.Backend.Head(ctx, key)
}

func (s *refusing) Pointer(ctx context.Context, tenant, name string) ([]byte, bool, error) {
	if s.unread != nil {
		return nil, false, s.unread
	}
	return s.Backend.Pointer(ctx, tenant, name)
}

func (s *refusing) UsageMarks(ctx context.Context, shard int, tenant string, after *store.UsageMark, limit int) ([]store.UsageMark, error) {
	if s.unread != nil {
		return nil, s.unread
	}
	return s.Backend.UsageMarks(ctx, shard, tenant, after, limit)
}

func (s *refusing) Waiting(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error) {
	if s.unread != nil {
		return nil, s.unread
	}
	return s.Backend.Waiting(ctx, tenant, after, limit)
}

func (s *refusing) Admission(ctx context.Context, tenant string, day int64) (store.Admission, error) {
	if s.unread != nil {
		return store.Admission{}, s.unread
	}
	return s.Backend.Admission(ctx, tenant, day)
}

func (s *refusing) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	if s.refuse != nil {
		return store.Outcome{}, s.refuse
	}
	return s.Backend.Commit(ctx, key, c)
}

func newReal(t *testing.T, more ...tool.Tool) *real {
	t.Helper()
	where := tool.NewClient[map[string]any](tool.Spec{Name: "where"})
	confirm := tool.New(tool.Spec{Name: "confirm"}, func(context.Context, tool.Call, map[string]any) (tool.Result, error) {
		return tool.Suspended(core.TicketRequest{Action: "tool:confirm", Mode: core.ResumeAsResult}), nil
	})
	delegate := tool.New(tool.Spec{Name: "delegate"}, func(ctx context.Context, call tool.Call, _ map[string]any) (tool.Result, error) {
		if end, over := call.ChildEnd(); over {
			return tool.NewResult(end.Response), nil
		}
		run, err := call.Start(ctx, tool.Child{Agent: "demo", Messages: []core.Message{core.UserMessage("call: confirm {}")}})
		return tool.AwaitChild(run, core.ResumeReplay), err
	})
	made := &real{t: t, queue: &mailboxtest.Queue{}, store: &refusing{Backend: memory.New()}}
	meanwhile := tool.New(tool.Spec{Name: "meanwhile"}, func(context.Context, tool.Call, map[string]any) (tool.Result, error) {
		made.during()
		return tool.NewResult("done"), nil
	})
	world, quiet := env.System(), slog.New(slog.DiscardHandler)
	r, err := host.New(host.Options{
		Env: world, Store: made.store, Waker: made.queue, Logger: quiet,
		Metering: &host.Metering{},
		Limits:   account.Tenants{Tenants: map[string]account.Limits{"few": {RunsADay: 3}, "poor": {SpendADay: 1}}},
		Prices:   func(string, string, core.Usage, time.Time) (core.USD, bool) { return core.USD(1e9), true },
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(world)}},
			Tools:  append([]tool.Tool{where, confirm, delegate, meanwhile}, more...),
			Specs:  []agent.Spec{{ID: "demo", Model: "m"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	made.runtime, made.options = r, httpapi.Options{
		Log: quiet, ShowRequests: true,
		Authenticate: func(r *http.Request) (core.Identity, error) {
			switch refused := r.Header.Get("Refuse"); refused {
			case "":
			case "panic":
				panic("the issuer's keys")
			default:
				return core.Identity{}, core.Errorf(core.Code(refused), "no")
			}
			id := core.Identity{Tenant: "secret-tenant", User: made.user}
			if values := r.Header.Values("User"); len(values) > 0 {
				id.User = values[0]
			}
			if tenant := r.Header.Get("Tenant"); tenant != "" {
				id.Tenant = tenant
			}
			return id, nil
		},
		Mounts: map[string]http.Handler{"/v1/ai-sdk/": aisdk.New(r, &aisdk.Options{Log: quiet})},
	}
	made.Handler = httpapi.New(r, &made.options)
	return made
}

// work does what is on the queue.
func (r *real) work() {
	r.t.Helper()
	for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
		if err := r.runtime.WorkLocal(r.t.Context(), hint); err != nil {
			r.t.Fatal(err)
		}
	}
}

// child starts a run of a child thread, as a call of the parent's would.
func (r *real) child(parent, thread string) {
	r.t.Helper()
	_, err := r.runtime.Submit(r.t.Context(), mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "secret-tenant", Thread: thread}, User: r.user, Opening: mailbox.Opening{AgentID: "demo", Parent: &mailbox.Parent{Thread: parent, Run: core.ID{1}}}, Origin: core.OriginInternal,
		Messages: []core.Message{core.UserMessage("help")},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// ok sends a request that must succeed.
func (r *real) ok(method, path, body string) *httptest.ResponseRecorder {
	r.t.Helper()
	rec := do(r, method, path, body)
	if rec.Code/100 != 2 {
		r.t.Fatalf("%s %s: status %d, %s", method, path, rec.Code, rec.Body)
	}
	return rec
}

// waits starts a run that comes to wait with one ticket, and reads it.
func (r *real) waits(input string) core.Run {
	r.t.Helper()
	var accepted struct {
		Run string `json:"run_id"`
	}
	r.read(r.ok("POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"`+input+`"}]}`), &accepted)
	r.work()
	var run core.Run
	r.read(r.ok("GET", "/v1/runs/"+accepted.Run, ""), &run)
	if len(run.Tickets) != 1 {
		r.t.Fatalf("the run waits with %d tickets: %+v", len(run.Tickets), run)
	}
	return run
}

func (r *real) read(rec *httptest.ResponseRecorder, v any) {
	r.t.Helper()
	if err := json.Unmarshal(rec.Body.Bytes(), v); err != nil {
		r.t.Fatal(err)
	}
}

// result is what the only tool call of thread t1 came to.
func (r *real) result() core.ToolResult {
	r.t.Helper()
	var page struct{ Messages []core.Message }
	r.read(r.ok("GET", "/v1/threads/t1/messages", ""), &page)
	for _, m := range page.Messages {
		if m.ToolResult != nil {
			return *m.ToolResult
		}
	}
	r.t.Fatal("the call has no result")
	return core.ToolResult{}
}
