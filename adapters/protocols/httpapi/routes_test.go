package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// refuse ends every read with an error of a code.
func refuse(code core.Code) *fake {
	err := core.Errorf(code, "partition acme#t1")
	return &fake{
		thread: func(core.Identity) (host.Thread, error) { return host.Thread{}, err },
		messages: func(core.Identity, host.MessageQuery) (host.MessagePage, error) {
			return host.MessagePage{}, err
		},
		run: func(core.Identity) (core.Run, error) { return core.Run{}, err },
	}
}

func TestWhatIsAbsentOrAnothersIs404(t *testing.T) {
	const thread, run = `{"error":"thread t1 not found","code":"not_found"}`, `{"error":"run ` + runText + ` not found","code":"not_found"}`
	tests := []struct{ method, path, call, want string }{
		{"GET", "/v1/threads/t1", "Thread t1", thread},
		{"GET", "/v1/threads/t1/messages", "Messages t1", thread},
		{"POST", "/v1/threads/t1/cancel", "CancelThread t1", `{"error":"active run of thread t1 not found","code":"not_found"}`},
		{"GET", "/v1/runs/" + runText, "Run " + runText, run},
		{"POST", "/v1/runs/" + runText + "/cancel", "CancelRun " + runText, `{"error":"active run ` + runText + ` not found","code":"not_found"}`},
		{"GET", "/v1/runs/" + runText + "/events/stream", "Follow " + runText, run},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			for _, f := range []*fake{{}, refuse(core.CodeForbidden)} {
				check(t, do(newServer(f), test.method, test.path, ""), 404, test.want)
				if diff := cmp.Diff([]string{test.call}, f.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// What is no run's id is the id of no run.
func TestAMalformedRunIDIs404(t *testing.T) {
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", "/v1/runs/xyz", "", "run xyz not found"},
		{"GET", "/v1/runs/xyz/events/stream", "", "run xyz not found"},
		{"POST", "/v1/runs/xyz/cancel", "", "run xyz not found"},
		{"POST", "/v1/runs/xyz/decision", `{"tool_call_id":"c1","action":"resume"}`, "run xyz not found"},
		{"GET", "/v1/runs/" + strings.Repeat("x", 70), "", "run " + strings.Repeat("x", 61) + "... not found"},
		{"GET", "/v1/runs/a%23b%01", "", `run a#b\u0001 not found`},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			f := &fake{}
			check(t, do(newServer(f), test.method, test.path, test.body), 404, `{"error":"`+test.want+`","code":"not_found"}`)
			silent(t, f)
		})
	}
}

func TestADeletedThreadIs410(t *testing.T) {
	check(t, do(newServer(refuse(core.CodeDeleted)), "GET", "/v1/threads/t1", ""), 410, `{"error":"partition acme#t1","code":"deleted"}`)
}

func TestThread(t *testing.T) {
	f := &fake{thread: func(id core.Identity) (host.Thread, error) {
		if id != (core.Identity{Tenant: "acme", User: "ann"}) {
			t.Errorf("read as %v", id)
		}
		return host.Thread{ID: "t1", Owner: "ann", ActiveRun: runID, Status: core.RunWaiting, Queued: 2, Messages: 7}, nil
	}}
	check(t, do(newServer(f), "GET", "/v1/threads/t1", ""), 200,
		`{"thread_id":"t1","owner":"ann","active_run":{"run_id":"`+runText+`","status":"waiting"},"queued":2,"messages":7}`)
	f.thread = func(core.Identity) (host.Thread, error) { return host.Thread{ID: "t1"}, nil }
	check(t, do(newServer(f), "GET", "/v1/threads/t1", ""), 200, `{"thread_id":"t1","active_run":null,"queued":0,"messages":0}`)
}

func TestMessagesComeInPages(t *testing.T) {
	var asked []host.MessageQuery
	f := &fake{messages: func(_ core.Identity, q host.MessageQuery) (host.MessagePage, error) {
		asked = append(asked, q)
		if q.After == 0 {
			return host.MessagePage{Messages: []core.Message{core.UserMessage("hi").WithID("m1")}, Total: 2, Next: 1}, nil
		}
		return host.MessagePage{Total: 2}, nil
	}}
	h := newServer(f)
	check(t, do(h, "GET", "/v1/threads/t1/messages", ""), 200,
		`{"messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"hi"}]}],"total":2,"has_more":true,"next_cursor":"bWVzc2FnZXM6MQ","limit":50}`)
	check(t, do(h, "GET", "/v1/threads/t1/messages?limit=200&cursor=bWVzc2FnZXM6MQ", ""), 200,
		`{"messages":[],"total":2,"has_more":false,"next_cursor":null,"limit":200}`)
	if diff := cmp.Diff([]host.MessageQuery{{}, {After: 1, Limit: 200}}, asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestBadMessageQueries(t *testing.T) {
	const limit, cursor = ` is not a whole number`, ` is not one that this route returned`
	for query, want := range map[string]string{
		"limit=1e2":         `limit \"1e2\"` + limit,
		"limit=0x10":        `limit \"0x10\"` + limit,
		"limit=":            `limit \"\"` + limit,
		"limit=ten":         `limit \"ten\"` + limit,
		"limit=1&limit=2":   `query has the parameter \"limit\" 2 times`,
		"limt=5":            `query has the unknown parameter \"limt\", allowed are limit, cursor, order, run, visibility`,
		"cursor=7":          `cursor \"7\"` + cursor,
		"cursor=bWVzc2Fn":   `cursor \"bWVzc2Fn\"` + cursor,
		"cursor=":           `cursor \"\"` + cursor,
		"cursor=%zz":        `query: invalid URL escape \"%zz\"`,
		"cursor=a;limit=50": `query: invalid semicolon separator in query`,
	} {
		t.Run(query, func(t *testing.T) {
			f := &fake{}
			check(t, do(newServer(f), "GET", "/v1/threads/t1/messages?"+query, ""), 400, `{"error":"`+want+`","code":"invalid"}`)
			silent(t, f)
		})
	}
}

func TestRun(t *testing.T) {
	f := &fake{run: func(core.Identity) (core.Run, error) {
		return core.Run{ID: runID, ThreadID: "t1", AgentID: "demo", Status: core.RunDone, Steps: 1, Response: "Hello",
			Termination: &core.Termination{Type: core.TerminationNatural}, CreatedAt: 5}, nil
	}}
	check(t, do(newServer(f), "GET", "/v1/runs/"+runText, ""), 200,
		`{"run_id":"`+runText+`","thread_id":"t1","agent_id":"demo","status":"done","steps":1,"response":"Hello","termination":{"type":"natural_end"},"created_at":5}`)
}

func TestCancel(t *testing.T) {
	f := &fake{cancelRun: func(core.Identity) error { return nil }, cancelThread: func(core.Identity) error { return nil }}
	check(t, do(newServer(f), "POST", "/v1/runs/"+runText+"/cancel", ""), 202, `{"run_id":"`+runText+`","status":"cancel_requested"}`)
	check(t, do(newServer(f), "POST", "/v1/threads/t1/cancel", ""), 202, `{"status":"cancel_requested","thread_id":"t1"}`)
}

// The roots are written down beside the routes, and must be all of theirs.
func TestTheRootsAreThoseOfTheRoutes(t *testing.T) {
	used := map[string]bool{}
	for _, route := range httpapi.Routes() {
		at, _, _ := strings.Cut(route.Path, "{")
		i := slices.IndexFunc(httpapi.RouteRoots(), func(root string) bool { return strings.HasPrefix(at, root) })
		if i < 0 {
			t.Errorf("no root is a prefix of %s", route.Path)
			continue
		}
		used[httpapi.RouteRoots()[i]] = true
	}
	for _, root := range httpapi.RouteRoots() {
		if !used[root] {
			t.Errorf("no route starts with the root %s", root)
		}
	}
}
