package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
)

// exercise drives the routes of a real runtime, holds every response against the
// document, and notes which of what is documented has happened.
type exercise struct {
	*real
	d        description
	buffered http.Handler // the same runtime, behind a door that cannot stream
	happened map[string]bool
}

// say is a body that starts a run.
func say(text string, more ...string) string {
	return `{"messages":[{"role":"user","content":"` + text + `"}]` + strings.Join(more, "") + `}`
}

// bodies that a route takes, by its name, where it needs one.
var wellFormed = map[string]string{
	"postMessages": say("hi"), "postRun": say("hi"), "postInputs": say("hi"), "postMailbox": `{"payload":1}`,
	"decideThread": `{"tool_call_id":"c1","action":"resume"}`, "decideRun": `{"tool_call_id":"c1","action":"resume"}`,
	"postThread": `{"title":"T"}`, "patchThread": `{"title":"T"}`, "patchMetadata": `{"metadata":{"a":1}}`,
	"forkThread": `{"at":"m1"}`, "patchInput": `{"messages":[{"role":"user","content":"hi"}]}`,
}

// send sends a request and returns the JSON field of the response that is named; "" is
// the whole body.
func (e *exercise) send(want int, method, path, body, field string, header ...string) string {
	e.t.Helper()
	return e.sendTo(e.real, want, method, path, body, field, header...)
}

func (e *exercise) sendTo(h http.Handler, want int, method, path, body, field string, header ...string) string {
	e.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := e.judge(h, r)
	if rec.Code != want {
		e.t.Errorf("%s %s %s: status %d, want %d: %s", method, path, core.Excerpt(body), rec.Code, want, rec.Body)
	}
	if field == "" {
		return rec.Body.String()
	}
	m := regexp.MustCompile(`"` + field + `":"([^"]*)"`).FindStringSubmatch(rec.Body.String())
	if m == nil {
		e.t.Fatalf("%s %s: %s has no %s", method, path, rec.Body, field)
	}
	return m[1]
}

func (e *exercise) judge(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	e.t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	operation, code, err := e.d.judge(r, rec)
	if err != nil {
		e.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	e.happened[strings.TrimSpace(fmt.Sprint(operation, " ", rec.Code, " ", code))] = true
	return rec
}

// documented is all that must happen.
func (d description) documented() (all []string) {
	for operation, o := range d.operations() {
		for status, a := range d.answers(o) {
			codes := a.codes()
			if codes == nil {
				codes = []string{""}
			}
			for _, code := range codes {
				all = append(all, strings.TrimSpace(fmt.Sprint(operation, " ", status, " ", code)))
			}
		}
	}
	slices.Sort(all)
	return all
}

func TestEverythingThatIsDocumentedHappens(t *testing.T) {
	synctest.Test(t, everythingHappens) // the pauses of what is tried again cost nothing so
}

func everythingHappens(t *testing.T) {
	r := newReal(t)
	r.options.MaxBody = 64 << 10 // so that bodies which are too large cost little
	r.Handler = httpapi.New(r.runtime, &r.options)
	e := &exercise{real: r, d: readDescription(t, r), happened: map[string]bool{}}
	options := r.options
	options.Buffered = true
	e.buffered = httpapi.New(r.runtime, &options)
	e.succeed()
	e.absent()
	e.deleted()
	e.conflict()
	e.unsupported()
	e.takeBack()
	e.fill()
	e.limited()
	e.common()
	all := e.d.documented()
	for _, what := range all {
		if !e.happened[what] {
			t.Errorf("documented, and never seen: %s", what)
		}
		delete(e.happened, what)
	}
	for what := range e.happened {
		t.Errorf("seen, and not documented: %s", what)
	}
	t.Logf("%d documented answers of %d operations", len(all), len(e.d.operations()))
}

// succeed has each route do what it is for.
func (e *exercise) succeed() {
	// A run that waits, is decided, and ends.
	run := e.send(202, "POST", "/v1/threads/s1/messages", say("call: confirm {}"), "run_id")
	e.work()
	e.send(200, "GET", "/v1/threads/s1/runs/active", "", "run_id")
	e.send(200, "GET", "/v1/approvals", "", "")
	e.send(200, "GET", "/v1/usage?from=2000-01-01&to=2000-01-02&by=day,user,agent,model", "", "")
	e.send(200, "GET", "/v1/runs/summary?agent=demo", "", "")
	call := regexp.MustCompile(`"tool_call_id":"([^"]*)"`).FindStringSubmatch(e.send(200, "GET", "/v1/runs/"+run, "", ""))[1]
	decide := `{"tool_call_id":"` + call + `","action":"resume","payload":{"approved":true},"decision_id":"d1"}`
	e.send(202, "POST", "/v1/runs/"+run+"/decision", decide, "")
	e.send(202, "POST", "/v1/threads/s1/decision", decide, "")
	e.work()
	events := e.send(200, "GET", "/v1/runs/"+run+"/events/stream", "", "")
	ids := regexp.MustCompile(`(?m)^id: (\S+)`).FindAllStringSubmatch(events, -1)
	e.send(204, "GET", "/v1/runs/"+run+"/events/stream", "", "", "Last-Event-ID", ids[len(ids)-1][1])
	e.send(200, "GET", "/v1/threads/s1", "", "")
	e.send(200, "GET", "/v1/threads/s1/runs/active", "", "")
	message := e.send(200, "GET", "/v1/threads/s1/messages", "", "id")
	e.send(200, "GET", "/v1/threads/s1/messages?limit=1", "", "next_cursor")
	e.send(201, "POST", "/v1/threads/s1/fork", `{"at":"`+message+`"}`, "")
	e.send(200, "POST", "/v1/runs", say("hello"), "")
	e.send(200, "POST", "/v1/runs", say("hello", `,"threadId":"s2"`), "run_id")
	e.sendTo(e.buffered, 202, "POST", "/v1/runs", say("hello"), "stream_url")
	// Input that is queued, changed and taken back.
	e.send(202, "POST", "/v1/threads/s2/messages", say("call: confirm {}"), "")
	e.work()
	input := e.send(201, "POST", "/v1/threads/s2/mailbox", `{"payload":{"text":"hi","n":1},"delay_ms":60000}`, "dispatch_id")
	e.send(200, "GET", "/v1/threads/s2/mailbox?limit=2", "", "")
	e.send(200, "PATCH", "/v1/threads/s2/mailbox/"+input, say("better"), "")
	e.send(204, "DELETE", "/v1/threads/s2/mailbox/"+input, "", "")
	waiting := e.send(200, "GET", "/v1/threads/s2/runs/active", "", "run_id")
	e.send(202, "POST", "/v1/runs/"+waiting+"/inputs", say("go on"), "")
	e.work()
	// What ends runs, and what takes them up.
	e.send(202, "POST", "/v1/threads/s3/messages", say("call: confirm {}"), "")
	e.work()
	e.send(202, "POST", "/v1/threads/s3/interrupt", "", "")
	e.send(202, "POST", "/v1/threads/s3/interrupt", say("call: confirm {}"), "")
	e.work()
	e.send(202, "POST", "/v1/threads/s3/cancel", "", "")
	e.work()
	cancelled := e.send(202, "POST", "/v1/threads/s3/messages", say("never"), "run_id")
	e.send(202, "POST", "/v1/runs/"+cancelled+"/cancel", "", "")
	e.work()
	failed := e.send(202, "POST", "/v1/threads/s4/messages", say("fail"), "run_id")
	e.work()
	e.send(202, "POST", "/v1/runs/"+failed+"/continue", "", "")
	e.work()
	dead := e.send(202, "POST", "/v1/threads/t1/messages", say("hello"), "run_id")
	e.dies()
	e.work()
	e.send(202, "POST", "/v1/runs/"+dead+"/retry", "", "")
	e.work()
	e.send(201, "POST", "/v1/threads", "", "")
	e.send(201, "POST", "/v1/threads", `{"threadId":"s5","title":"Rome","metadata":{"a":{"b":1}}}`, "")
	e.send(200, "PATCH", "/v1/threads/s5", `{"title":null}`, "")
	e.send(200, "PATCH", "/v1/threads/s5/metadata", `{"metadata":{"a":{"c":2}}}`, "")
	e.send(200, "GET", "/v1/threads?limit=2", "", "next_cursor")
	e.send(200, "GET", "/v1/threads/summaries?q=s&agent=demo", "", "")
	e.send(200, "GET", "/v1/runs?status=done&termination=natural_end", "", "run_id")
	e.send(200, "GET", "/v1/threads/s1/runs", "", "run_id")
	e.send(200, "GET", "/v1/threads/s1/runs/latest", "", "run_id")
	e.send(200, "GET", "/v1/threads/s1/state?revision=0", "", "")
	e.send(200, "GET", "/v1/threads/s1/state/patches?since=0", "", "")
	e.send(200, "GET", "/v1/runs/"+run+"/steps?limit=1", "", "next_cursor")
	e.send(200, "GET", "/v1/runs/"+run+"/steps/1/request", "", "hash")
	e.send(200, "GET", "/v1/runs/"+run+"/events?limit=2", "", "next_cursor")
	e.send(200, "GET", "/v1/agents", "", "")
	e.send(200, "GET", "/v1/agents/demo", "", "")
	e.send(200, "GET", "/v1/capabilities", "", "")
	e.send(204, "DELETE", "/v1/threads/s4", "", "")
	e.send(200, "GET", "/openapi.json", "", "")
	e.send(200, "GET", "/health/live", "", "")
	for _, path := range []string{"/health"} {
		e.send(200, "GET", path, "", "")
		e.sendTo(httpapi.New(sick{e.runtime}, &e.options), 503, "GET", path, "", "")
	}
}

// sick is a host whose process should be replaced.
type sick struct{ protocol.Host }

func (sick) Healthy() error { return errors.New("16 tools do not end") }

// unmetered is a host that records no usage.
type unmetered struct{ protocol.Host }

func (unmetered) Report(context.Context, account.Query) ([]account.Row, error) {
	return nil, core.Errorf(core.CodeNotFound, "usage is not recorded here")
}

func (unmetered) ReportHours(context.Context, account.HourQuery) ([]account.Hour, error) {
	return nil, core.Errorf(core.CodeNotFound, "usage is not recorded here")
}

// pathOf fills the path of a route.
func pathOf(r httpapi.Route, thread, run, input string) string {
	agent := "demo"
	if thread == "nowhere" {
		agent = thread
	}
	return strings.NewReplacer("{thread}", thread, "{run}", run, "{input}", input, "{agent}", agent, "{step}", "1").Replace(r.Path)
}

// byQuery are the routes that name a thread in a parameter of theirs.
var byQuery = map[string]string{"getThreads": "?parent=", "getSummaries": "?parent=", "getRuns": "?thread="}

// required are the parameters that a route cannot do without.
var required = map[string]string{"getUsage": "?from=2026-01-01&to=2026-01-02"}

// of is the path of a route that asks for a thread.
func of(r httpapi.Route, thread, run string) string {
	path := pathOf(r, thread, run, nobodys)
	if parameter := byQuery[r.Name]; parameter != "" {
		path += parameter + thread
	}
	return path
}

const nobodys = "00000000-0000-4000-8000-000000000000"

// absent asks for what does not exist.
func (e *exercise) absent() {
	e.send(202, "POST", "/v1/threads/a1/messages", say("hello"), "")
	e.work()
	const agent = `,"agentId":"nobody"`
	for _, r := range httpapi.Routes() {
		switch r.Name {
		case "postMessages", "postRun":
			e.send(404, r.Method, pathOf(r, "a1", nobodys, nobodys), say("hi", agent), "")
		case "getUsage", "getRunSummary":
			e.sendTo(httpapi.New(unmetered{e.runtime}, &e.options), 404, r.Method, r.Path+required[r.Name], "", "")
		case "postThread":
			e.send(201, r.Method, r.Path, `{"threadId":"a2"}`, "", "User", "ann")
			e.send(404, r.Method, r.Path, `{"threadId":"a2"}`, "")
		case "postMailbox":
			e.send(404, r.Method, pathOf(r, "a1", nobodys, nobodys), `{"payload":1`+agent+`}`, "")
		default:
			if slices.Contains(r.Refuses, core.CodeNotFound) {
				e.send(404, r.Method, of(r, "nowhere", nobodys), wellFormed[r.Name], "")
			}
		}
	}
}

// deleted asks for what is gone for good.
func (e *exercise) deleted() {
	run := e.send(202, "POST", "/v1/threads/g1/messages", say("hello"), "run_id")
	e.work()
	e.send(204, "DELETE", "/v1/threads/g1", "", "")
	for _, r := range httpapi.Routes() {
		body := wellFormed[r.Name]
		if r.Name == "postRun" {
			body = say("hi", `,"threadId":"g1"`)
		}
		if r.Name == "postThread" {
			body = `{"threadId":"g1"}`
		}
		if slices.Contains(r.Refuses, core.CodeDeleted) {
			e.send(410, r.Method, of(r, "g1", run), body, "")
		}
	}
}

// conflict asks for what something else stands against.
func (e *exercise) conflict() {
	// One key, two contents.
	key := []string{"Idempotency-Key", "k1"}
	run := e.send(202, "POST", "/v1/threads/c1/messages", say("call: confirm {}"), "run_id")
	e.work()
	for _, path := range []string{"/v1/threads/c1/messages", "/v1/runs/" + run + "/inputs", "/v1/threads/c1/interrupt"} {
		key[1] += "x"
		e.send(202, "POST", path, say("call: confirm {}"), "", key...)
		e.send(409, "POST", path, say("other"), "", key...)
		e.work()
	}
	e.send(201, "POST", "/v1/threads/c1/mailbox", `{"payload":1}`, "", "Idempotency-Key", "k2")
	e.send(409, "POST", "/v1/threads/c1/mailbox", `{"payload":2}`, "", "Idempotency-Key", "k2")
	e.send(200, "POST", "/v1/runs", say("hello"), "", "Idempotency-Key", "k3")
	e.send(409, "POST", "/v1/runs", say("other"), "", "Idempotency-Key", "k3")
	e.work()
	// A thread that is busy.
	run = e.send(202, "POST", "/v1/threads/c2/messages", say("call: confirm {}"), "run_id")
	e.work()
	const reject = `,"mode":"reject"`
	e.send(409, "POST", "/v1/threads/c2/messages", say("hi", reject), "")
	e.send(409, "POST", "/v1/runs/"+run+"/inputs", say("hi", reject), "")
	e.send(409, "POST", "/v1/runs", say("hi", reject, `,"threadId":"c2"`), "")
	e.send(409, "POST", "/v1/runs/"+run+"/continue", "", "")
	// Two decisions on one ticket, and two under one name.
	call := regexp.MustCompile(`"tool_call_id":"([^"]*)"`).FindStringSubmatch(e.send(200, "GET", "/v1/runs/"+run, "", ""))[1]
	decide := func(action, id string) string {
		return `{"tool_call_id":"` + call + `","action":"` + action + `","decision_id":"` + id + `"}`
	}
	e.send(202, "POST", "/v1/runs/"+run+"/decision", decide("resume", "d1"), "")
	for _, path := range []string{"/v1/runs/" + run + "/decision", "/v1/threads/c2/decision"} {
		e.send(409, "POST", path, decide("cancel", "d1"), "")
		e.send(409, "POST", path, decide("cancel", "d2"), "")
	}
	e.work()
	parent := e.send(202, "POST", "/v1/threads/c3/messages", say("call: delegate {}"), "run_id")
	e.work()
	call = regexp.MustCompile(`"tool_call_id":"([^"]*)"`).FindStringSubmatch(e.send(200, "GET", "/v1/runs/"+parent, "", ""))[1]
	for _, path := range []string{"/v1/runs/" + parent + "/decision", "/v1/threads/c3/decision"} {
		e.send(409, "POST", path, decide("cancel", "d3"), "")
	}
	e.send(409, "POST", "/v1/threads", `{"thread_id":"c2"}`, "")
	e.child("c2", "c2.child")
	e.send(409, "DELETE", "/v1/threads/c2?child_strategy=reject", "", "")
	// A name that is taken, a run that ended well.
	message := e.send(200, "GET", "/v1/threads/c2/messages", "", "id")
	e.send(409, "POST", "/v1/threads/c2/fork", `{"at":"`+message+`","threadId":"c1"}`, "")
	e.send(409, "POST", "/v1/runs/"+run+"/continue", "", "")
	e.send(409, "POST", "/v1/runs/"+run+"/retry", "", "")
	// A door that cannot stream.
	e.sendTo(e.buffered, 406, "POST", "/v1/runs", say("hi"), "", "Accept", "text/event-stream")
	e.sendTo(e.buffered, 406, "GET", "/v1/runs/"+run+"/events/stream", "", "")
}

// unsupported says something in blocks that are no text.
func (e *exercise) unsupported() {
	run := e.send(202, "POST", "/v1/threads/u1/messages", say("hello"), "run_id")
	e.work()
	const image = `{"messages":[{"role":"user","content":[{"type":"image"}]}]}`
	for _, r := range httpapi.Routes() {
		if slices.Contains(r.Refuses, core.CodeUnsupported) {
			e.send(400, r.Method, pathOf(r, "u1", run, nobodys), image, "")
		}
	}
}

// takeBack takes back what was taken back before.
func (e *exercise) takeBack() {
	e.send(202, "POST", "/v1/threads/b1/messages", say("hello"), "")
	e.work()
	message := e.send(200, "GET", "/v1/threads/b1/messages", "", "id")
	e.send(202, "POST", "/v1/threads/b1/messages", `{"replace_message":"`+message+`","messages":[{"role":"user","content":"other"}]}`, "")
	e.work()
	again := `{"regenerate_from":"` + message + `","threadId":"b1"}`
	ofPath := `{"regenerate_from":"` + message + `"}`
	e.send(409, "POST", "/v1/threads/b1/messages", ofPath, "")
	e.send(409, "POST", "/v1/threads/b1/interrupt", ofPath, "")
	e.send(409, "POST", "/v1/runs", again, "")
	e.send(409, "POST", "/v1/threads/b1/fork", `{"at":"`+message+`"}`, "")
}

// fill queues as much as a thread takes, and more.
func (e *exercise) fill() {
	dead := e.send(202, "POST", "/v1/threads/t1/messages", say("hello"), "run_id")
	e.dies()
	e.work()
	const later = `,"delay_ms":60000`
	for _, when := range []string{later, ""} {
		for range 8 {
			e.send(202, "POST", "/v1/threads/t1/messages", say("hi", when), "")
		}
	}
	e.send(429, "POST", "/v1/threads/t1/messages", say("hi", later), "")
	e.send(429, "POST", "/v1/threads/t1/mailbox", `{"payload":1`+later+`}`, "")
	e.send(429, "POST", "/v1/runs/"+dead+"/inputs", say("hi", later), "")
	e.send(429, "POST", "/v1/runs", say("hi", later, `,"threadId":"t1"`), "")
	e.send(429, "POST", "/v1/runs/"+dead+"/retry", "", "")
}

// limited asks for runs of tenants that may have no more of them, or have no money left.
func (e *exercise) limited() {
	for tenant, want := range map[string]int{"few": 429, "poor": 402} {
		as := []string{"Tenant", tenant}
		failed := e.send(202, "POST", "/v1/threads/l1/messages", say("fail"), "run_id", as...)
		e.work()
		dead := e.send(202, "POST", "/v1/threads/l2/messages", say("hello"), "run_id", as...)
		e.diesAs(tenant, "l2")
		e.work()
		e.send(202, "POST", "/v1/threads/l3/messages", say("hello"), "", as...)
		e.work()
		for path, body := range map[string]string{
			"/v1/threads/l4/messages": say("hi"), "/v1/threads/l4/mailbox": `{"payload":1}`, "/v1/threads/l4/interrupt": say("hi"),
			"/v1/runs": say("hi"), "/v1/runs/" + dead + "/inputs": say("hi"), "/v1/runs/" + dead + "/retry": "", "/v1/runs/" + failed + "/continue": "",
		} {
			got := e.send(want, "POST", path, body, "", as...)
			if !strings.Contains(got, `"ends_at":"2000-01-02T00:00:00Z"`) {
				e.t.Errorf("%s: %s does not say when the limit ends", path, got)
			}
		}
		e.send(200, "GET", "/v1/limits", "", "ends_at", as...)
	}
	e.send(200, "GET", "/v1/limits", "", "")
}

// slow is a body that does not arrive in time.
type slow struct{}

func (slow) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// common has each route refuse for what every route refuses for.
func (e *exercise) common() {
	run := e.send(202, "POST", "/v1/threads/o1/messages", say("hello"), "run_id")
	e.work()
	for _, r := range httpapi.Routes() {
		if r.Open {
			continue
		}
		path, body := pathOf(r, "o1", run, nobodys)+required[r.Name], wellFormed[r.Name]
		if r.Name == "postRun" {
			body = say("hi", `,"threadId":"o1"`)
		}
		stored := slices.Contains(r.Refuses, core.CodeThrottled)
		as := map[string][]string{"getLimits": {"Tenant", "few"}} // of others nothing is read
		for status, header := range map[int]string{401: "unauthorized", 403: "denied", 500: "panic", 503: "unavailable"} {
			if status < 500 || !stored { // the store's come below
				e.send(status, r.Method, path, body, "", "Refuse", header)
			}
		}
		e.send(400, r.Method, path, "\xff", "")
		e.send(413, r.Method, path, `"`+strings.Repeat("x", 64<<10)+`"`, "")
		e.send(415, r.Method, path, "x=1", "", "Content-Type", "application/x-www-form-urlencoded")
		late := httptest.NewRequest(r.Method, path, slow{})
		if rec := e.judge(e.real, late); rec.Code != 408 {
			e.t.Errorf("%s: status %d of a body that does not arrive", r.Name, rec.Code)
		}
		if !stored {
			continue
		}
		for _, failing := range []error{errors.New("the disk is gone"), store.ErrThrottled, context.DeadlineExceeded} {
			e.store.unread = failing
			e.send(map[bool]int{true: 500, false: 503}[failing.Error() == "the disk is gone"], r.Method, path, body, "", as[r.Name]...)
			e.store.unread = nil
		}
		if slices.Contains(r.Refuses, core.CodeCorrupt) {
			e.store.unread = &store.DamagedError{Key: core.ThreadKey{Tenant: "secret-tenant", Thread: "o1"}, Cause: errors.New("M#1")}
			if text := e.send(409, r.Method, path, body, ""); strings.Contains(text, "M#1") || strings.Contains(text, "secret") {
				e.t.Errorf("%s of a damaged thread: %s", r.Name, text)
			}
			e.store.unread = nil
		}
	}
}
