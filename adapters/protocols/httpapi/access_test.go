package httpapi_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
)

// aRoute is a request for each route that names a thread or run: what is sent to it,
// with THREAD, RUN, CALL and INPUT for those of a thread that waits, and ASKED for the
// input of its run.
type aRoute struct{ pattern, method, path, body string }

const threadBody = `{"messages":[{"role":"user","content":"hi"}]}`

// everyRoute is in an order in which no request takes from the next what it needs.
var everyRoute = []aRoute{
	{"GET /v1/threads", "GET", "/v1/threads?parent=THREAD", ""},
	{"GET /v1/threads/summaries", "GET", "/v1/threads/summaries?parent=THREAD", ""},
	{"GET /v1/runs", "GET", "/v1/runs?thread=THREAD", ""},
	{"GET /v1/threads/{thread}/runs", "GET", "/v1/threads/THREAD/runs", ""},
	{"GET /v1/threads/{thread}/runs/latest", "GET", "/v1/threads/THREAD/runs/latest", ""},
	{"GET /v1/threads/{thread}/state", "GET", "/v1/threads/THREAD/state", ""},
	{"GET /v1/threads/{thread}/state/patches", "GET", "/v1/threads/THREAD/state/patches", ""},
	{"GET /v1/runs/{run}/steps", "GET", "/v1/runs/RUN/steps", ""},
	{"GET /v1/runs/{run}/steps/{step}/request", "GET", "/v1/runs/RUN/steps/1/request", ""},
	{"GET /v1/runs/{run}/events", "GET", "/v1/runs/RUN/events", ""},
	{"PATCH /v1/threads/{thread}", "PATCH", "/v1/threads/THREAD", `{"title":"mine"}`},
	{"PATCH /v1/threads/{thread}/metadata", "PATCH", "/v1/threads/THREAD/metadata", `{"metadata":{"a":1}}`},
	{"GET /v1/threads/{thread}", "GET", "/v1/threads/THREAD", ""},
	{"GET /v1/threads/{thread}/messages", "GET", "/v1/threads/THREAD/messages", ""},
	{"GET /v1/threads/{thread}/runs/active", "GET", "/v1/threads/THREAD/runs/active", ""},
	{"GET /v1/threads/{thread}/mailbox", "GET", "/v1/threads/THREAD/mailbox", ""},
	{"GET /v1/runs/{run}", "GET", "/v1/runs/RUN", ""},
	{"GET /v1/runs/{run}/events/stream", "GET", "/v1/runs/RUN/events/stream", ""},
	{"", "GET", "/v1/ai-sdk/threads/THREAD/messages", ""},
	{"", "GET", "/v1/ai-sdk/chat/THREAD/stream", ""},
	{"", "GET", "/v1/ai-sdk/threads/THREAD/stream", ""},
	{"PATCH /v1/threads/{thread}/mailbox/{input}", "PATCH", "/v1/threads/THREAD/mailbox/INPUT", threadBody},
	{"DELETE /v1/threads/{thread}/mailbox/{input}", "DELETE", "/v1/threads/THREAD/mailbox/INPUT", ""},
	{"POST /v1/threads/{thread}/messages", "POST", "/v1/threads/THREAD/messages", threadBody},
	{"POST /v1/threads/{thread}/mailbox", "POST", "/v1/threads/THREAD/mailbox", `{"payload":{"text":"hi"}}`},
	{"POST /v1/runs", "POST", "/v1/runs", `{"threadId":"THREAD","messages":[{"role":"user","content":"hi"}]}`},
	{"POST /v1/runs/{run}/inputs", "POST", "/v1/runs/RUN/inputs", threadBody},
	{"POST /v1/runs/{run}/retry", "POST", "/v1/runs/RUN/retry", ""},
	{"POST /v1/runs/{run}/continue", "POST", "/v1/runs/RUN/continue", ""},
	{"POST /v1/threads/{thread}/fork", "POST", "/v1/threads/THREAD/fork", `{"at":"ASKED.0"}`},
	{"POST /v1/runs/{run}/decision", "POST", "/v1/runs/RUN/decision", `{"tool_call_id":"CALL","action":"cancel"}`},
	{"POST /v1/threads/{thread}/decision", "POST", "/v1/threads/THREAD/decision", `{"tool_call_id":"CALL","action":"cancel"}`},
	{"POST /v1/runs/{run}/cancel", "POST", "/v1/runs/RUN/cancel", ""},
	{"POST /v1/threads/{thread}/cancel", "POST", "/v1/threads/THREAD/cancel", ""},
	{"", "POST", "/v1/ai-sdk/threads/THREAD/cancel", ""},
	{"", "POST", "/v1/ai-sdk/chat", `{"id":"THREAD","messages":[{"id":"m9","role":"user","parts":[{"type":"text","text":"hi"}]}]}`},
	{"", "POST", "/v1/ai-sdk/threads/THREAD/runs", `{"messages":[{"id":"m9","role":"user","parts":[{"type":"text","text":"hi"}]}]}`},
	{"", "POST", "/v1/ai-sdk/threads/THREAD/interrupt", ""},
	{"POST /v1/threads/{thread}/interrupt", "POST", "/v1/threads/THREAD/interrupt", ""},
	{"POST /v1/threads/{thread}/interrupt", "POST", "/v1/threads/THREAD/interrupt", threadBody},
	{"DELETE /v1/threads/{thread}", "DELETE", "/v1/threads/THREAD", ""},
}

// TestEveryRouteIsTried: a route that is added is added here too. Those that name no
// thread and no run are tried by TestApprovalsAreTheCallersOwn and TestAThreadIsMadeOnce,
// or show nothing that is anybody's.
func TestEveryRouteIsTried(t *testing.T) {
	tried := 0
	for _, route := range httpapi.Routes() {
		pattern := route.Method + " " + route.Path
		if !strings.Contains(pattern, "{thread}") && !strings.Contains(pattern, "{run}") && !slices.Contains([]string{"postRun", "getRuns", "getThreads", "getSummaries"}, route.Name) {
			continue
		}
		if tried++; !slices.ContainsFunc(everyRoute, func(r aRoute) bool { return r.pattern == pattern }) {
			t.Errorf("nobody tries route %s with another caller", pattern)
		}
	}
	if tried < 32 {
		t.Errorf("%d routes are tried, want 32 or more", tried)
	}
}

// owned is a thread of ann that waits, with a queued run behind.
type owned struct {
	*real
	run   core.Run
	input string
}

func newOwned(t *testing.T) owned {
	t.Helper()
	o := owned{real: newReal(t)}
	o.user = "ann"
	o.run = o.waits("call: confirm")
	var later struct {
		Dispatch string `json:"dispatch_id"`
	}
	o.read(o.ok("POST", "/v1/threads/t1/messages", `{"delay_ms":3600000,"messages":[{"role":"user","content":"later"}]}`), &later)
	o.input = later.Dispatch
	return o
}

// try sends the request of a route.
func (o owned) try(r aRoute, header ...string) *httptest.ResponseRecorder {
	fill := strings.NewReplacer("THREAD", "t1", "RUN", o.run.ID.String(), "CALL", o.run.Tickets[0].CallID, "INPUT", o.input, "ASKED", o.run.Dispatch.String())
	return do(o.real, r.method, fill.Replace(r.path), fill.Replace(r.body), header...)
}

// shape is the thread as its owner sees it.
func (o owned) shape(t *testing.T) string {
	t.Helper()
	o.user = "ann"
	return strings.Join([]string{
		o.ok("GET", "/v1/threads/t1", "").Body.String(), o.ok("GET", "/v1/threads/t1/messages", "").Body.String(),
		o.ok("GET", "/v1/threads/t1/mailbox", "").Body.String(), o.ok("GET", "/v1/runs/"+o.run.ID.String(), "").Body.String(),
	}, "\n")
}

// Another user, and another tenant's user of the same name, are told that there is no
// such thread or run, in words that do not differ from those for one that never was;
// and nothing changes.
func TestEveryRouteChecksTenantAndUser(t *testing.T) {
	for _, caller := range []struct{ name, tenant, user string }{
		{"another user", "secret-tenant", "bob"}, {"nobody of the tenant", "secret-tenant", ""}, {"another tenant", "other-tenant", "ann"},
	} {
		for _, r := range everyRoute {
			t.Run(caller.name+" "+r.method+" "+r.path, func(t *testing.T) {
				o := newOwned(t)
				before := o.shape(t)
				rec := o.try(r, "User", caller.user, "Tenant", caller.tenant)
				creates := caller.tenant == "other-tenant" && r.method == "POST" && r.body != "" &&
					(strings.HasSuffix(r.path, "/messages") || strings.HasSuffix(r.path, "/mailbox") || strings.HasSuffix(r.path, "/interrupt") || strings.HasSuffix(r.path, "/runs") || strings.HasSuffix(r.path, "/chat"))
				switch {
				case creates: // a thread of that tenant's own, whose id happens to be the same
					if rec.Code/100 != 2 {
						t.Errorf("status %d: %s", rec.Code, rec.Body)
					}
				case strings.HasSuffix(r.path, "THREAD/stream"): // 204: nothing runs, as for a thread that never was
					if rec.Code != 204 {
						t.Errorf("status %d: %s", rec.Code, rec.Body)
					}
				case rec.Code != 404 || !strings.Contains(rec.Body.String(), `not found","code":"not_found"}`):
					t.Errorf("status %d: %s", rec.Code, rec.Body)
				}
				if diff := cmp.Diff(before, o.shape(t)); diff != "" {
					t.Errorf("the thread (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// The owner is refused nothing: what the table above sends is right.
func TestEveryRouteTakesItsOwner(t *testing.T) {
	for _, r := range everyRoute {
		if r.method == "POST" && (strings.HasSuffix(r.path, "/runs") || strings.HasSuffix(r.path, "/chat")) {
			continue // they follow the run that waits, until somebody works on it
		}
		t.Run(r.method+" "+r.path+" "+r.body, func(t *testing.T) {
			rec := newOwned(t).try(r, "User", "ann")
			want := "2"
			if strings.HasSuffix(r.path, "/retry") || strings.HasSuffix(r.path, "/continue") { // it is no dead letter, nor over
				want = "409"
			}
			if !strings.HasPrefix(fmt.Sprint(rec.Code), want) {
				t.Errorf("status %d: %s", rec.Code, rec.Body)
			}
		})
	}
}

// A thread that was deleted says so on every route, before it is erased and after, and
// so do its runs; to others it never was.
func TestADeletedThreadIs410OnEveryRoute(t *testing.T) {
	for _, erased := range []bool{false, true} {
		for _, r := range everyRoute {
			t.Run(fmt.Sprint(r.method, " ", r.path, " erased ", erased), func(t *testing.T) {
				o := newOwned(t)
				o.ok("DELETE", "/v1/threads/t1", "")
				if erased {
					o.work()
					list, err := o.store.Records(t.Context(), core.ThreadKey{Tenant: "secret-tenant", Thread: "t1"}, "", "", 10)
					if err != nil || len(list) != 0 {
						t.Fatalf("records %v, %v", list, err)
					}
				}
				rec := o.try(r, "User", "ann")
				if rec.Code != 410 || !strings.HasSuffix(rec.Body.String(), `"code":"deleted"}`+"\n") {
					t.Errorf("status %d: %s", rec.Code, rec.Body)
				}
				if rec = o.try(r, "User", "bob"); rec.Code == 410 || strings.HasPrefix(fmt.Sprint(rec.Code), "2") && rec.Code != 204 {
					t.Errorf("another user: status %d: %s", rec.Code, rec.Body)
				}
			})
		}
	}
}

// The list of what waits shows nobody else's threads, and none that was deleted.
func TestApprovalsAreTheCallersOwn(t *testing.T) {
	o := newOwned(t)
	shown := func(header ...string) int {
		var page struct{ Approvals []struct{} }
		o.read(do(o.real, "GET", "/v1/approvals", "", header...), &page)
		return len(page.Approvals)
	}
	for _, tt := range []struct {
		tenant, user string
		want         int
	}{{"secret-tenant", "ann", 1}, {"secret-tenant", "bob", 0}, {"secret-tenant", "", 0}, {"other-tenant", "ann", 0}} {
		if n := shown("Tenant", tt.tenant, "User", tt.user); n != tt.want {
			t.Errorf("%s of %s is shown %d approvals, want %d", tt.user, tt.tenant, n, tt.want)
		}
	}
	o.ok("DELETE", "/v1/threads/t1", "")
	if n := shown(); n != 0 {
		t.Errorf("%d approvals of a deleted thread are shown", n)
	}
}
