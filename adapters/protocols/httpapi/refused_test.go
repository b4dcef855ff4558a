package httpapi_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// What a client reads of a refusal says what is wrong and what is allowed, in the
// client's words: no tenant, no name of a record, nothing of how threads are kept.
func TestRefusalsSpeakToTheClient(t *testing.T) {
	r := newReal(t)
	run := r.waits("call: confirm")
	decide := "/v1/runs/" + run.ID.String() + "/decision"
	call := run.Tickets[0].CallID
	send := func(thread, text, mode string, header ...string) *httptest.ResponseRecorder {
		body := fmt.Sprintf(`{"mode":%q,"messages":[{"role":"user","content":%q}]}`, mode, text)
		return do(r, "POST", "/v1/threads/"+thread+"/messages", body, header...)
	}
	check(t, send("t1", "hi", "reject"), 409, `{"error":"thread t1: another run is open or queued","code":"busy"}`)

	r.ok("POST", decide, `{"tool_call_id":"`+call+`","action":"cancel","decision_id":"d1"}`)
	check(t, do(r, "POST", decide, `{"tool_call_id":"`+call+`","action":"cancel","decision_id":"d2"}`), 409,
		`{"error":"thread t1: the call was already decided otherwise","code":"decided"}`)
	check(t, do(r, "POST", decide, `{"tool_call_id":"`+call+`","action":"resume","decision_id":"d1"}`), 409,
		`{"error":"decision id \"d1\" was used before with other content","code":"conflict"}`)
	r.work()
	check(t, do(r, "POST", decide, `{"tool_call_id":"`+call+`","action":"cancel","decision_id":"d3"}`), 409,
		`{"error":"tool call or suspension \"`+call+`\": the call was already decided otherwise","code":"decided"}`)

	if rec := send("t2", "one", "queue", "Idempotency-Key", "k1"); rec.Code != 202 {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	check(t, send("t2", "two", "queue", "Idempotency-Key", "k1"), 409,
		`{"error":"thread t2: an earlier request with the same Idempotency-Key or message id has other content","code":"conflict"}`)
	for range 7 {
		send("t2", "more", "queue")
	}
	check(t, send("t2", "too much", "queue"), 429, `{"error":"thread t2: 8 runs are queued, at most 8 are allowed: no more is accepted for now","code":"full"}`)

	steered := newReal(t)
	steered.during = func() {
		for i := range 9 {
			rec := do(steered, "POST", "/v1/threads/t1/messages", `{"mode":"steer","messages":[{"role":"user","content":"and"}]}`)
			if i == 8 {
				check(t, rec, 429, `{"error":"thread t1: 8 messages wait to be read, at most 8 are allowed: no more is accepted for now","code":"full"}`)
			}
		}
	}
	steered.ok("POST", "/v1/runs", `{"threadId":"t1","messages":[{"role":"user","content":"call: meanwhile"}]}`)
	if got := steered.result(); got.Status != core.ResultOK {
		t.Errorf("the call that steers is %s", got.Status)
	}
}

func TestADeletedThreadIsNamed(t *testing.T) {
	r := newReal(t)
	run := r.waits("call: confirm")
	key := core.ThreadKey{Tenant: "secret-tenant", Thread: "t1"}
	head, err := r.store.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	tombstone := store.Head{Layout: head.Layout, Schema: head.Schema, Version: head.Version + 1, CommitID: core.ID{1}, Deleted: true}
	if outcome, err := r.store.Commit(t.Context(), key, store.Commit{Head: tombstone}); err != nil || !outcome.Written {
		t.Fatal(outcome, err)
	}
	const gone, deleted = `{"error":"thread t1: it was deleted","code":"deleted"}`, `{"error":"thread t1 was deleted","code":"deleted"}`
	check(t, do(r, "POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"hi"}]}`), 410, gone)
	check(t, do(r, "POST", "/v1/runs", `{"threadId":"t1","messages":[{"role":"user","content":"hi"}]}`), 410, gone)
	check(t, do(r, "POST", "/v1/threads/t1/decision", `{"tool_call_id":"c1","action":"cancel"}`), 410, gone)
	check(t, do(r, "GET", "/v1/threads/t1", ""), 410, deleted)
	check(t, do(r, "GET", "/v1/runs/"+run.ID.String(), ""), 410, deleted)
	check(t, do(r, "POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[{"role":"user","content":"hi"}]}`), 410, deleted)
}

// A store names tenants and records; what a client reads does not.
func TestRefusalsOfTheStoreStayInside(t *testing.T) {
	for _, tt := range []struct {
		err                     error
		status                  int
		ofInput, ofDecision, ai string
	}{
		{store.ErrTooLarge, 413, `{"error":"thread t1: the input is larger than can be stored","code":"too_large"}`,
			`{"error":"thread t1: the decision is larger than can be stored","code":"too_large"}`,
			`{"error":"thread t1: the input is larger than can be stored","code":"too_large"}`},
		{&store.RefusedError{Name: "Q#1#0", Cause: store.ErrConflict}, 503, `{"error":"the service cannot answer now, try again","code":"throttled"}`,
			`{"error":"the service cannot answer now, try again","code":"throttled"}`, `{"error":"the service cannot answer now, try again","code":"throttled"}`},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			r := newReal(t)
			run := r.waits("call: confirm")
			r.store.refuse = fmt.Errorf("record Q#1#0 of secret-tenant/t1: %w", tt.err)
			const messages = `{"messages":[{"role":"user","content":"hi"}]}`
			check(t, do(r, "POST", "/v1/threads/t1/messages", messages), tt.status, tt.ofInput)
			check(t, do(r, "POST", "/v1/runs", `{"threadId":"t1","messages":[{"role":"user","content":"hi"}]}`), tt.status, tt.ofInput)
			check(t, do(r, "POST", "/v1/runs/"+run.ID.String()+"/decision", `{"tool_call_id":"`+run.Tickets[0].CallID+`","action":"cancel"}`), tt.status, tt.ofDecision)
			check(t, do(r, "POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}]}`), tt.status, tt.ai)
		})
	}
}
