package httpapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

func TestARequestNamesTheMessageToTakeBackTo(t *testing.T) {
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	want := func(mode mailbox.Mode, messages ...core.Message) mailbox.Submission {
		return mailbox.Submission{
			Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, User: "ann", Mode: mode, Messages: messages, Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: "m1"}},
		}
	}
	tests := []struct {
		name, body string
		want       mailbox.Submission
	}{
		{"again", `{"regenerate_from":"m1"}`, want("")},
		{"again, in the other spelling, with a mode", `{"regenerateFrom":"m1","mode":"queue"}`, want(mailbox.ModeQueue)},
		{"another", `{"replace_message":"m1",` + hi + `}`, want("", core.UserMessage("hi"))},
		{"another, in the other spelling", `{"replaceMessage":"m1",` + hi + `}`, want("", core.UserMessage("hi"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			rec := do(newServer(f), "POST", "/v1/threads/t1/messages", test.body)
			if diff := cmp.Diff([]mailbox.Submission{test.want}, f.submissions); diff != "" || rec.Code != 202 {
				t.Errorf("status %d %s, submission (-want +got):\n%s", rec.Code, rec.Body, diff)
			}
		})
	}
}

func TestWhatSaysTwoThingsAtOnceIsRefused(t *testing.T) {
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	tests := []struct{ body, want string }{
		{`{"regenerate_from":"m1",` + hi + `}`, `body has both regenerate_from, which repeats a message, and messages; use replace_message for a new one`},
		{`{"regenerate_from":"m1","replace_message":"m1"}`, `body has both regenerate_from and replace_message`},
		{`{"regenerate_from":"m1","regenerateFrom":"m1"}`, `regenerateFrom is given twice, as regenerate_from too`},
		{`{"replace_message":"m1"}`, `messages is required: the replacement for the message that replace_message names`},
		{`{"replace_message":"m1","messages":[]}`, `messages are empty, at least one is required`},
		{`{"regenerate_from":7}`, `regenerate_from is 7, want a string`},
		{`{"regenerate_from":""}`, `message to retake is empty`},
		{`{"regenerate_from":"a#b"}`, `message to retake \"a#b\" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{`{"regenerate_from":"m1","mode":"steer"}`, `mode steer withdraws nothing, allowed are queue, interrupt, reject`},
	}
	for _, test := range tests {
		t.Run(test.body, func(t *testing.T) {
			f := &fake{}
			check(t, do(newServer(f), "POST", "/v1/threads/t1/messages", test.body), 400, `{"error":"`+test.want+`","code":"invalid"}`)
			silent(t, f)
		})
	}
}

// A run that waits is taken back with its ticket; what was named is told from what
// the thread does not have, and from what it had.
func TestAMessageIsSaidAgainOverHTTP(t *testing.T) {
	r := newReal(t)
	waits := r.waits(`call: confirm {}`)
	message := r.texts()[0].id
	again := r.ok("POST", "/v1/threads/t1/messages", `{"regenerate_from":"`+message+`"}`)
	r.work()
	if got := r.texts(); len(got) != 2 || got[0] != (shown{message, "call: confirm {}"}) {
		t.Errorf("the thread has %v after a run was taken back", got)
	}
	late := do(r, "POST", "/v1/runs/"+waits.ID.String()+"/decision", `{"suspension_id":"`+waits.Tickets[0].Suspension.ID+`","action":"resume"}`)
	if late.Code != 404 || !strings.Contains(late.Body.String(), `"code":"not_found"`) {
		t.Errorf("a decision on what was taken back: %d %s", late.Code, late.Body)
	}
	var accepted struct {
		Run string `json:"run_id"`
	}
	r.read(again, &accepted)
	if accepted.Run == waits.ID.String() {
		t.Errorf("it is said again to the run that waits")
	}
	r.ok("POST", "/v1/threads/t1/messages", `{"replace_message":"`+message+`","messages":[{"id":"m2","role":"user","content":"hello"}]}`)
	r.work()
	if got := r.texts(); len(got) != 2 || got[0] != (shown{"m2", "hello"}) {
		t.Errorf("the thread has %v after another was said", got)
	}
	check(t, do(r, "POST", "/v1/threads/t1/messages", `{"regenerate_from":"`+message+`"}`), 409,
		`{"error":"thread t1: message \"`+message+`\" was withdrawn before","code":"superseded"}`)
	check(t, do(r, "POST", "/v1/threads/t1/messages", `{"regenerate_from":"nobody"}`), 404,
		`{"error":"message nobody of thread t1 not found","code":"not_found"}`)
	check(t, do(r, "POST", "/v1/threads/t9/messages", `{"regenerate_from":"nobody"}`), 404,
		`{"error":"message nobody of thread t9 not found","code":"not_found"}`)
}

// The same key is the same request, whatever the message has come to mean since.
func TestAKeyedRequestToTakeBackCountsOnce(t *testing.T) {
	r := newReal(t)
	r.ok("POST", "/v1/threads/t1/messages", `{"messages":[{"id":"m1","role":"user","content":"hi"}]}`)
	r.work()
	var runs []string
	for range 3 {
		rec := do(r, "POST", "/v1/threads/t1/messages", `{"regenerate_from":"m1"}`, "Idempotency-Key", "k")
		var accepted struct {
			Run string `json:"run_id"`
		}
		r.read(rec, &accepted)
		runs = append(runs, accepted.Run)
		r.work()
	}
	if runs[0] == "" || runs[1] != runs[0] || runs[2] != runs[0] {
		t.Errorf("the runs of one key are %v", runs)
	}
	rec := do(r, "POST", "/v1/threads/t1/messages", `{"replace_message":"m1","messages":[{"role":"user","content":"hi"}]}`, "Idempotency-Key", "k")
	if rec.Code != 409 || !strings.Contains(rec.Body.String(), `"code":"conflict"`) {
		t.Errorf("the key of another request: %d %s", rec.Code, rec.Body)
	}
}

// shown is a message as the thread's page shows it.
type shown struct{ id, text string }

func (r *real) texts() []shown {
	r.t.Helper()
	return r.textsOf("t1")
}

func (r *real) textsOf(thread string) (all []shown) {
	r.t.Helper()
	var page struct{ Messages []core.Message }
	r.read(r.ok("GET", "/v1/threads/"+thread+"/messages", ""), &page)
	for _, m := range page.Messages {
		all = append(all, shown{m.ID, m.Text()})
	}
	return all
}

// A thread that is idle is gone on with in the stream of the request.
func TestAMessageIsSaidAgainInAStream(t *testing.T) {
	r := newReal(t)
	r.ok("POST", "/v1/threads/t1/messages", `{"messages":[{"id":"m1","role":"user","content":"hi"}]}`)
	r.work()
	stream := r.ok("POST", "/v1/runs", `{"threadId":"t1","regenerate_from":"m1"}`).Body.String()
	for _, want := range []string{`"event_type":"run_start"`, `"event_type":"text_delta"`, `"event_type":"run_finish"`} {
		if !strings.Contains(stream, want) {
			t.Errorf("the stream has no %s:\n%s", want, stream)
		}
	}
	if diff := cmp.Diff([]string{"hi", "You said: hi"}, []string{r.texts()[0].text, r.texts()[1].text}); diff != "" || len(r.texts()) != 2 {
		t.Errorf("the thread (-want +got):\n%s", diff)
	}
}

func TestAThreadIsForkedOverHTTP(t *testing.T) {
	r := newReal(t)
	r.ok("POST", "/v1/threads/t1/messages", `{"messages":[{"id":"m1","role":"user","content":"hi"}]}`)
	r.work()
	r.ok("POST", "/v1/threads/t1/messages", `{"messages":[{"id":"m2","role":"user","content":"again"}]}`)
	r.work()
	answer := r.texts()[1].id
	const fork = "/v1/threads/t1/fork"
	body := func(duplicate string) string {
		return `{"thread_id":"t2","forked_from":"t1","at":"` + answer + `","messages":2,"duplicate":` + duplicate + `}`
	}
	check(t, do(r, "POST", fork, `{"at":"`+answer+`","threadId":"t2"}`), 201, body("false"))
	check(t, do(r, "POST", fork, `{"at":"`+answer+`","thread_id":"t2"}`), 201, body("true"))
	r.ok("POST", "/v1/threads/t2/messages", `{"messages":[{"id":"m3","role":"user","content":"other"}]}`)
	r.work()
	want := []shown{{"m1", "hi"}, {answer, "You said: hi"}, {"m3", "other"}}
	if got := r.textsOf("t2"); len(got) != 4 || cmp.Diff(want, got[:3], cmp.AllowUnexported(shown{})) != "" || got[3].text != "You said: other" {
		t.Errorf("the fork has %v", got)
	}
	if got := r.texts(); len(got) != 4 || got[2].id != "m2" {
		t.Errorf("the thread has %v", got)
	}
	var first, second struct {
		Thread string `json:"thread_id"`
	}
	r.read(do(r, "POST", fork, `{"at":"m2"}`, "Idempotency-Key", "k"), &first)
	r.read(do(r, "POST", fork, `{"at":"m2"}`, "Idempotency-Key", "k"), &second)
	if first.Thread == "" || first != second || len(r.textsOf(first.Thread)) != 3 {
		t.Errorf("the forks of one key are %v and %v", first, second)
	}
	for _, refused := range []struct {
		path, body string
		status     int
		want       string
	}{
		{fork, `{}`, 400, `{"error":"at is required","code":"invalid"}`},
		{fork, `{"at":"m1","from":"m2"}`, 400, `{"error":"unknown field \"from\" in body, allowed are at, threadId","code":"invalid"}`},
		{fork, `{"at":""}`, 400, `{"error":"message to fork at is empty","code":"invalid"}`},
		{fork, `{"at":"m1","threadId":""}`, 400, `{"error":"thread id of the fork is empty","code":"invalid"}`},
		{fork, `{"at":"m9"}`, 404, `{"error":"thread t1: message \"m9\": not found","code":"not_found"}`},
		{"/v1/threads/t9/fork", `{"at":"m1"}`, 404, `{"error":"thread t9 not found","code":"not_found"}`},
		{fork, `{"at":"m1","threadId":"t2"}`, 409, `{"error":"thread t2: it exists already","code":"conflict"}`},
	} {
		check(t, do(r, "POST", refused.path, refused.body), refused.status, refused.want)
	}
	check(t, do(r, "POST", "/v1/threads/a%23b/fork", `{"at":"m1"}`), 400, `{"error":"thread id \"a#b\" has the character '#', allowed are A-Z a-z 0-9 . _ : -","code":"invalid"}`)
}

func TestARunThatFailedGoesOnOverHTTP(t *testing.T) {
	r := newReal(t)
	var failed, next struct {
		Run    string `json:"run_id"`
		Status string
		Stream string `json:"stream_url"`
	}
	r.read(r.ok("POST", "/v1/threads/t1/messages", `{"messages":[{"id":"m1","role":"user","content":"fail"}]}`), &failed)
	r.work()
	var record core.Run
	if r.read(r.ok("GET", "/v1/runs/"+failed.Run, ""), &record); record.Termination == nil || record.Termination.Type != core.TerminationError {
		t.Fatalf("the run is %+v, want one that failed", record)
	}
	path := "/v1/runs/" + failed.Run + "/continue"
	r.read(r.ok("POST", path, ""), &next)
	if next.Run == failed.Run || next.Status != "queued" || next.Stream != "/v1/runs/"+next.Run+"/events/stream" {
		t.Errorf("the run that goes on is %+v", next)
	}
	again := next
	if r.read(r.ok("POST", path, `{}`), &again); again != next {
		t.Errorf("the same request again is %+v, want %+v", again, next)
	}
	r.work()
	if got := r.texts(); len(got) != 1 || got[0] != (shown{"m1", "fail"}) {
		t.Errorf("the thread has %v", got)
	}
	for _, refused := range []struct {
		path, body string
		status     int
		want       string
	}{
		{path, `{"mode":"queue"}`, 400, `{"error":"unknown field \"mode\" in body, none is allowed","code":"invalid"}`},
		{"/v1/runs/" + runText + "/continue", ``, 404, `{"error":"run ` + runText + ` not found","code":"not_found"}`},
		{"/v1/runs/x/continue", ``, 404, `{"error":"run x not found","code":"not_found"}`},
	} {
		check(t, do(r, "POST", refused.path, refused.body), refused.status, refused.want)
	}
	r.ok("POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"hi"}]}`)
	r.work()
	check(t, do(r, "POST", "/v1/runs/"+next.Run+"/continue", ``), 409,
		`{"error":"take up run `+next.Run+`: a later run has written to the thread: only the newest run can be taken up","code":"conflict"}`)
}

// Nobody takes back what is another's, nor learns that it is there.
func TestAnothersMessageIsNotFound(t *testing.T) {
	o := newOwned(t)
	before := o.shape(t)
	message := o.texts()[0].id
	for _, caller := range [][]string{{"User", "bob"}, {"User", "ann", "Tenant", "other-tenant"}} {
		for _, body := range []string{`{"regenerate_from":"` + message + `"}`, `{"replace_message":"` + message + `","messages":[{"role":"user","content":"hi"}]}`} {
			check(t, do(o.real, "POST", "/v1/threads/t1/messages", body, caller...), 404,
				`{"error":"message `+message+` of thread t1 not found","code":"not_found"}`)
		}
	}
	for _, body := range []string{
		`{"id":"t1","trigger":"regenerate-message","messages":[{"id":"` + message + `","role":"user","parts":[{"type":"text","text":"hi"}]}]}`,
		`{"id":"t1","messageId":"` + message + `","messages":[{"id":"` + message + `","role":"user","parts":[{"type":"text","text":"hi"}]}]}`,
	} {
		check(t, do(o.real, "POST", "/v1/ai-sdk/chat", body, "User", "bob"), 404, `{"error":"not found","code":"not_found"}`)
	}
	if diff := cmp.Diff(before, o.shape(t)); diff != "" {
		t.Errorf("the thread (-before +after):\n%s", diff)
	}
}
