package httpapi_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// settled makes the ids of a body what every run of a test has.
func settled(body string) string {
	body = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllString(body, "ID")
	return strings.TrimSpace(regexp.MustCompile(`"next_cursor":"[^"]+"`).ReplaceAllString(body, `"next_cursor":"CURSOR"`))
}

// names are the values of a key in a body, in order.
func names(body, key string) (found []string) {
	for _, m := range regexp.MustCompile(`"`+key+`":"([^"]*)"`).FindAllStringSubmatch(body, -1) {
		found = append(found, m[1])
	}
	return found
}

// says has something said on a thread, a millisecond after whatever was before: in a
// bubble, where that takes no time.
func (r *real) says(thread, text string) {
	r.t.Helper()
	time.Sleep(time.Millisecond)
	r.ok("POST", "/v1/threads/"+thread+"/messages", say(text))
	r.work()
}

func (r *real) get(path string) string {
	r.t.Helper()
	return r.ok("GET", path, "").Body.String()
}

func (r *real) want(what string, want, got any) {
	r.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestThreadsAreListedByTheirLastActivity(t *testing.T) {
	synctest.Test(t, threadsAreListedByTheirLastActivity)
}

func threadsAreListedByTheirLastActivity(t *testing.T) {
	r := newReal(t)
	r.user = "ann"
	for _, thread := range []string{"t1", "t2", "t3"} {
		r.says(thread, "hello")
	}
	r.ok("PATCH", "/v1/threads/t2", `{"title":"Trip to Rome"}`) // moves nothing
	r.says("t1", "call: confirm {}")
	r.want("threads", []string{"t1", "t3", "t2"}, names(r.get("/v1/threads"), "thread_id"))
	r.want("the first page", `{"threads":[{"thread_id":"t1","owner":"ann","agent_id":"demo","active_run":{"run_id":"ID","status":"waiting"},`+
		`"queued":0,"messages":4,"created_at":946684800001,"last_activity":946684800004}],"has_more":true,"next_cursor":"CURSOR","limit":1}`, settled(r.get("/v1/threads?limit=1")))
	var pages []string
	for path := "/v1/threads?limit=1"; path != ""; {
		body := r.get(path)
		pages = append(pages, names(body, "thread_id")...)
		path = ""
		if cursor := names(body, "next_cursor"); cursor != nil {
			path = "/v1/threads?limit=1&cursor=" + cursor[0]
		}
	}
	r.want("pages of one", []string{"t1", "t3", "t2"}, pages)
	r.want("found in titles", []string{"t2"}, names(r.get("/v1/threads?q=ROME"), "thread_id"))
	r.want("found in ids", []string{"t3"}, names(r.get("/v1/threads?q=T3"), "thread_id"))
	r.want("nothing found", `{"threads":[],"has_more":false,"next_cursor":null,"limit":50}`, settled(r.get("/v1/threads?q=oslo")))
	r.want("of another agent", []string(nil), names(r.get("/v1/threads?agent=other"), "thread_id"))
	r.ok("DELETE", "/v1/threads/t3", "")
	r.want("without the deleted one", []string{"t1", "t2"}, names(r.get("/v1/threads"), "thread_id"))
}

func TestSummariesSayWhatTheLastRunCameTo(t *testing.T) {
	synctest.Test(t, summariesSayWhatTheLastRunCameTo)
}

func summariesSayWhatTheLastRunCameTo(t *testing.T) {
	r := newReal(t)
	r.ok("POST", "/v1/threads", `{"threadId":"t1","title":"Trip","metadata":{"z":1,"a":{"b":[1,2.50]}}}`)
	r.want("a thread on which nothing was said", `{"threads":[{"thread_id":"t1","title":"Trip","active_run":null,"queued":0,"messages":0,"created_at":946684800000,"last_activity":946684800000,`+
		`"metadata":{"a":{"b":[1,2.50]},"z":1},"last_run":null}],"has_more":false,"next_cursor":null,"limit":50}`, settled(r.get("/v1/threads/summaries")))
	r.says("t1", "hello")
	r.want("behind its first run", `{"threads":[{"thread_id":"t1","title":"Trip","agent_id":"demo","active_run":null,"queued":0,"messages":2,"created_at":946684800000,"last_activity":946684800001,`+
		`"metadata":{"a":{"b":[1,2.50]},"z":1},"first_asked":"hello","asked":"hello","excerpt":"You said: hello","last_run":{"run_id":"ID","agent_id":"demo","status":"done","termination":{"type":"natural_end"},"steps":1,`+
		`"usage":{"input":1,"output":3}}}],"has_more":false,"next_cursor":null,"limit":50}`, settled(r.get("/v1/threads/summaries")))
	r.says("t1", "fail")
	r.want("behind one that failed", []string{"error"}, names(r.get("/v1/threads/summaries"), "type"))
	r.says("t2", strings.Repeat(`word\nline `, 50))
	excerpt := names(r.get("/v1/threads/summaries?limit=1"), "excerpt")
	r.want("a long answer is cut", []string{("You said: " + strings.Repeat("word line ", 20))[:199] + "…"}, excerpt)
}

func TestTitleAndMetadataAreMerged(t *testing.T) { synctest.Test(t, titleAndMetadataAreMerged) }

func titleAndMetadataAreMerged(t *testing.T) {
	r := newReal(t)
	r.says("t1", "hello")
	for _, step := range []struct{ body, want string }{
		{`{"title":"A \"name\""}`, `"title":"A \"name\"","agent_id"`},
		{`{"metadata":{"a":{"b":1,"c":2},"d":[1]}}`, `"metadata":{"a":{"b":1,"c":2},"d":[1]}}`},
		{`{"metadata":{"a":{"b":null,"e":9007199254740993},"d":[2,3]}}`, `"metadata":{"a":{"c":2,"e":9007199254740993},"d":[2,3]}}`},
		{`{"metadata":{"a":5},"title":"B"}`, `"metadata":{"a":5,"d":[2,3]}}`},
		{`{"title":null}`, `{"thread_id":"t1","agent_id":"demo"`},
		{`{"metadata":{"a":null,"d":null}}`, `"last_activity":946684800001}`},
		{`{"metadata":{"a":1}}`, `"metadata":{"a":1}}`},
		{`{"metadata":null}`, `"last_activity":946684800001}`},
	} {
		changed := settled(r.ok("PATCH", "/v1/threads/t1/metadata", step.body).Body.String())
		if !strings.Contains(changed, step.want) {
			t.Errorf("after %s: %s, want it to have %s", step.body, changed, step.want)
		}
		r.want("read again", changed, settled(r.get("/v1/threads/t1")))
	}
}

func TestWhatIsSaidOfAThreadHasLimits(t *testing.T) { synctest.Test(t, whatIsSaidOfAThreadHasLimits) }

func whatIsSaidOfAThreadHasLimits(t *testing.T) {
	r := newReal(t)
	r.says("t1", "hello")
	keys := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"k%d":1`, i))
		}
		return `{"metadata":{` + strings.Join(all, ",") + `}}`
	}
	const bytes = 16<<10 - len(`{"a":""}`)
	for _, tt := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"title":"` + strings.Repeat("ä", 200) + `"}`, 200, ""},
		{`{"title":"` + strings.Repeat("ä", 201) + `"}`, 400, `{"error":"title has 201 characters, at most 200 are allowed","code":"invalid"}`},
		{`{"title":"a\nb"}`, 400, `{"error":"title \"a\\nb\" has a control character, text on one line is allowed","code":"invalid"}`},
		{`{"title":" "}`, 400, `{"error":"title is blank; null removes a title","code":"invalid"}`},
		{`{"title":""}`, 400, `{"error":"title is empty; null removes a title","code":"invalid"}`},
		{`{"title":7}`, 400, `{"error":"title is 7, want a string, or null","code":"invalid"}`},
		{`{}`, 400, `{"error":"body changes nothing, at least one of title and metadata is required","code":"invalid"}`},
		{`{"metadata":[1]}`, 400, `{"error":"metadata is a list, want an object, or null","code":"invalid"}`},
		{`{"name":"x"}`, 400, `{"error":"unknown field \"name\" in body, allowed are title, metadata","code":"invalid"}`},
		{keys(64), 200, ""},
		{`{"metadata":{"k64":1}}`, 400, `{"error":"metadata has 65 keys, at most 64 are allowed","code":"invalid"}`},
		{`{"metadata":null}`, 200, ""},
		{`{"metadata":{"a":"` + strings.Repeat("x", bytes) + `"}}`, 200, ""},
		{`{"metadata":{"a":"` + strings.Repeat("x", bytes+1) + `"}}`, 413, `{"error":"metadata is larger than 16384 bytes: it has 16385","code":"too_large"}`},
	} {
		rec := do(r, "PATCH", "/v1/threads/t1", tt.body)
		if rec.Code != tt.status || tt.want != "" && strings.TrimSpace(rec.Body.String()) != tt.want {
			t.Errorf("%.60s: status %d, %.200s; want %d, %s", tt.body, rec.Code, rec.Body, tt.status, tt.want)
		}
	}
}

func TestThreadsAreTheCallersOwnAndNobodys(t *testing.T) {
	synctest.Test(t, threadsAreTheCallersOwnAndNobodys)
}

func threadsAreTheCallersOwnAndNobodys(t *testing.T) {
	r := newReal(t)
	for _, user := range []string{"", "ann", "bob"} {
		r.user = user
		r.says("of-"+user, "hello")
	}
	for user, want := range map[string][]string{"ann": {"of-ann", "of-"}, "bob": {"of-bob", "of-"}, "": {"of-"}, "eve": {"of-"}} {
		r.user = user
		for _, path := range []string{"/v1/threads", "/v1/threads/summaries", "/v1/runs"} {
			r.want(path+" of "+user, want, names(r.get(path), "thread_id"))
		}
	}
	rec := do(r, "GET", "/v1/threads", "", "Tenant", "other-tenant")
	r.want("of another tenant", []string(nil), names(rec.Body.String(), "thread_id"))
}

func TestChildThreadsAreListedApart(t *testing.T) { synctest.Test(t, childThreadsAreListedApart) }

func childThreadsAreListedApart(t *testing.T) {
	r := newReal(t)
	r.user = "ann"
	r.says("t1", "hello")
	time.Sleep(time.Millisecond)
	r.child("t1", "c1")
	r.work()
	r.want("threads", []string{"t1"}, names(r.get("/v1/threads"), "thread_id"))
	children := r.get("/v1/threads?parent=t1")
	r.want("children", []string{"c1"}, names(children, "thread_id"))
	r.want("whose", []string{"t1"}, names(children, "parent_thread_id"))
	r.want("runs, one with its parent", []string{"c1", "t1", "t1"}, names(r.get("/v1/runs"), "thread_id"))
	if rec := do(r, "GET", "/v1/threads?parent=t1", "", "User", "bob"); rec.Code != 404 || strings.TrimSpace(rec.Body.String()) != `{"error":"thread t1 not found","code":"not_found"}` {
		t.Errorf("for another user: status %d, %s", rec.Code, rec.Body)
	}
	r.ok("DELETE", "/v1/threads/t1?child_strategy=cascade", "")
	for _, thread := range []string{"t1", "c1"} {
		if rec := do(r, "GET", "/v1/threads/"+thread, ""); rec.Code != 410 {
			t.Errorf("%s: status %d behind a cascade, want 410", thread, rec.Code)
		}
	}
	r.says("t2", "hello")
	r.child("t2", "c2")
	r.ok("DELETE", "/v1/threads/t2", "")
	for thread, want := range map[string]int{"t2": 410, "c2": 200} {
		if rec := do(r, "GET", "/v1/threads/"+thread, ""); rec.Code != want {
			t.Errorf("%s: status %d behind a DELETE that names no strategy, want %d", thread, rec.Code, want)
		}
	}
	if rec := do(r, "DELETE", "/v1/threads/t1?child_strategy=", ""); rec.Code != 400 {
		t.Errorf("an empty strategy: status %d, want 400", rec.Code)
	}
}

func TestRunsAreListedByWhenTheyWereSubmitted(t *testing.T) {
	synctest.Test(t, runsAreListedByWhenTheyWereSubmitted)
}

func runsAreListedByWhenTheyWereSubmitted(t *testing.T) {
	r := newReal(t)
	r.says("t1", "hello")
	r.says("t2", "call: confirm {}")
	r.says("t1", "fail")
	time.Sleep(time.Millisecond)
	var later struct {
		Run string `json:"run_id"`
	}
	r.read(r.ok("POST", "/v1/threads/t1/messages", say("later", `,"delay_ms":60000`)), &later)
	for path, want := range map[string][]string{
		"/v1/runs":                                     {"created", "done", "waiting", "done"},
		"/v1/runs?limit=2":                             {"created", "done"},
		"/v1/runs?status=waiting":                      {"waiting"},
		"/v1/runs?status=created":                      {"created"},
		"/v1/runs?status=running":                      nil,
		"/v1/runs?status=done":                         {"done", "done"},
		"/v1/runs?termination=natural_end":             {"done"},
		"/v1/runs?termination=error&agent=demo":        {"done"},
		"/v1/runs?agent=other":                         nil,
		"/v1/runs?thread=t1":                           {"created", "done", "done"},
		"/v1/runs?thread=t1&status=done":               {"done", "done"},
		"/v1/threads/t1/runs":                          {"created", "done", "done"},
		"/v1/threads/t1/runs?limit=1":                  {"created"},
		"/v1/threads/t2/runs":                          {"waiting"},
		"/v1/threads/t1/runs?status=done&limit=1":      {"done"},
		"/v1/threads/t1/runs?termination=superseded":   nil,
		"/v1/threads/t1/runs?status=created&agent=dem": nil,
	} {
		r.want(path, want, names(r.get(path), "status"))
	}
	// One that is cancelled before a step has opened it is done, and stays.
	if rec := do(r, "POST", "/v1/threads/t1/cancel", ""); rec.Code != 404 {
		t.Errorf("Stop beside a delayed run: status %d, %s; want 404", rec.Code, rec.Body)
	}
	r.ok("POST", "/v1/runs/"+later.Run+"/cancel", "")
	r.want("cancelled before it opened", []string{"cancelled"}, names(r.get("/v1/runs?termination=cancelled"), "type"))
	r.want("the latest", []string{"done"}, names(r.get("/v1/threads/t1/runs/latest"), "status"))
	var pages []string
	for path := "/v1/threads/t1/runs?limit=1"; path != ""; {
		body := r.get(path)
		pages = append(pages, names(body, "status")...)
		path = ""
		if cursor := names(body, "next_cursor"); cursor != nil {
			path = "/v1/threads/t1/runs?limit=1&cursor=" + cursor[0]
		}
	}
	r.want("pages of one", []string{"done", "done", "done"}, pages)
	r.ok("POST", "/v1/threads", `{"threadId":"t3"}`)
	if rec := do(r, "GET", "/v1/threads/t3/runs/latest", ""); rec.Code != 404 {
		t.Errorf("the latest of none: status %d, want 404", rec.Code)
	}
	r.ok("DELETE", "/v1/threads/t2", "")
	r.want("without the deleted thread's", []string{"t1", "t1", "t1"}, names(r.get("/v1/runs"), "thread_id"))
}

func TestBadListQueries(t *testing.T) {
	const cursor = ` is not one that this route returned`
	h := newReal(t)
	for path, want := range map[string]string{
		"/v1/threads?user=ann":                      `query has the unknown parameter \"user\", allowed are limit, cursor, q, agent, parent`,
		"/v1/threads?parent=":                       `query has the parameter \"parent\" without a value`,
		"/v1/threads?cursor=bWVzc2FnZXM6MQ":         `cursor \"bWVzc2FnZXM6MQ\"` + cursor,
		"/v1/threads?q=" + strings.Repeat("x", 201): `text to search for has 201 bytes, at most 200 of UTF-8 are allowed`,
		"/v1/runs?status=over":                      `status \"over\" is unknown, allowed are created, running, waiting, done`,
		"/v1/runs?termination=suspended":            `termination \"suspended\" is unknown, allowed are natural_end, behavior_requested, stopped, cancelled, blocked, superseded, error`,
		"/v1/runs?thread=a%20b":                     `thread \"a b\" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`,
		"/v1/runs?cursor=cnVuczox":                  `cursor \"1\" is not one that this list gave`, // runs:1, which the host refuses
		"/v1/threads/t1/runs?thread=t1":             `query has the unknown parameter \"thread\", allowed are limit, cursor, status, agent, termination, q, since, until, origin, parent, min_ms, min_cost`,
		"/v1/threads/t1/runs/latest?limit=1":        `query has the unknown parameter \"limit\", none is allowed`,
	} {
		check(t, do(h, "GET", path, ""), 400, `{"error":"`+want+`","code":"invalid"}`)
	}
	check(t, do(h, "DELETE", "/v1/threads/t1?child_strategy=all", ""), 400,
		`{"error":"child_strategy \"all\" is unknown, allowed are detach, cascade, reject","code":"invalid"}`)
}

func TestAThreadIsMadeOnce(t *testing.T) { synctest.Test(t, aThreadIsMadeOnce) }

func aThreadIsMadeOnce(t *testing.T) {
	r := newReal(t)
	first := r.ok("POST", "/v1/threads", `{"title":"A"}`).Body.String()
	second := r.ok("POST", "/v1/threads", `{"title":"A"}`).Body.String()
	if first == second {
		t.Errorf("two requests made one thread: %s", first)
	}
	again := func(body string) (int, string) {
		rec := do(r, "POST", "/v1/threads", body, "Idempotency-Key", "k")
		return rec.Code, rec.Body.String()
	}
	_, first = again(`{"title":"A"}`)
	status, second := again(`{"title":"A"}`)
	if first != second || status != 201 {
		t.Errorf("under one key: status %d, %s and %s", status, first, second)
	}
	if status, body := again(`{"title":"B"}`); status != 409 {
		t.Errorf("other content under the key: status %d, %s", status, body)
	}
	check(t, do(r, "POST", "/v1/threads", `{"threadId":"a#b"}`), 400, `{"error":"thread id \"a#b\" has the character '#', allowed are A-Z a-z 0-9 . _ : -","code":"invalid"}`)
	r.ok("POST", "/v1/threads", `{"threadId":"t1"}`)
	check(t, do(r, "POST", "/v1/threads", `{"threadId":"t1"}`), 409, `{"error":"thread t1: it exists already","code":"conflict"}`)
}
