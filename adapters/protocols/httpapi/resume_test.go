package httpapi_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

const afterTheResults = "step_end\nstep_start\ntext_delta é\nstep_end\nrun_finish\n"

// event-source-polyfill names the event in the query, after an empty parameter.
func TestALastEventInTheQueryCountsAsTheHeader(t *testing.T) {
	const stream = "/v1/runs/" + runText + "/events/stream"
	id, end := idAfterTheResults(t), runText+".2.4.9999-0-m"
	tests := []struct {
		name, path string
		header     []string
		status     int
		want       string
	}{
		{"alone", stream + "?lastEventId=" + id, nil, 200, afterTheResults},
		{"as the polyfill writes it", stream + "?&lastEventId=" + id, nil, 200, afterTheResults},
		{"before the header of a later event", stream + "?lastEventId=" + id, []string{"Last-Event-ID", end}, 204, ""},
		{"after the end", stream + "?lastEventId=" + end, nil, 204, ""},
		{"signed in the query", stream + "?X-Amz-Signature=a&lastEventId=" + end, nil, 204, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{follow: func(_ core.Identity, s sinkFunc) error { return play(s, committed()) }}
			rec := do(newServer(f), "GET", test.path, "", test.header...)
			if rec.Code != test.status || rec.Code == 200 && cmp.Diff(test.want, brief(t, rec.Body.String())) != "" {
				t.Errorf("status %d, want %d:\n%s", rec.Code, test.status, rec.Body)
			}
		})
	}
	f := &fake{follow: func(_ core.Identity, s sinkFunc) error { return play(s, committed()) }}
	if all := do(newServer(f), "GET", stream+"?lastEventId=", ""); len(split(t, all.Body.String())) != 17 {
		t.Errorf("an empty lastEventId: %d %s, want all 17 events", all.Code, all.Body)
	}
	check(t, do(newServer(&fake{}), "GET", stream+"?lastEventId=x", ""), 400, `{"error":"Last-Event-ID \"x\" is not a position of run `+runText+`","code":"invalid"}`)
}

// idAfterTheResults is the id that a stream gives the last result of the first step.
func idAfterTheResults(t *testing.T) string {
	t.Helper()
	f := &fake{follow: func(_ core.Identity, s sinkFunc) error { return play(s, committed()) }}
	frames := split(t, do(newServer(f), "GET", "/v1/runs/"+runText+"/events/stream", "").Body.String())
	return frames[len(frames)-6].id
}

// fetch-event-source sends its POST again, with the id of the last event that it had.
func TestAPostThatIsSentAgainResumesBehindItsLastEvent(t *testing.T) {
	const other = "01890000-0000-7000-8000-000000000009.1.3.0-0-a"
	id := idAfterTheResults(t)
	tests := []struct {
		name   string
		header []string
		status int
		want   string // the events; of a refusal the body
	}{
		{"behind an event", []string{"Idempotency-Key", "k", "Last-Event-ID", id}, 200, afterTheResults},
		{"at the end", []string{"Idempotency-Key", "k", "Last-Event-ID", runText + ".2.4.9999-0-m"}, 200, "run_finish\n"},
		{"without the key", []string{"Last-Event-ID", id}, 400,
			`{"error":"header Last-Event-ID of a POST needs the header Idempotency-Key of the first request: without it the request would start another run","code":"invalid"}`},
		{"of another run", []string{"Idempotency-Key", "k", "Last-Event-ID", other}, 400,
			`{"error":"Last-Event-ID \"` + other + `\" is not a position of run ` + runText + `","code":"invalid"}`},
		{"no position", []string{"Idempotency-Key", "k", "Last-Event-ID", "7"}, 400, `{"error":"header Last-Event-ID \"7\" is not a position of a run","code":"invalid"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{stream: func(_ context.Context, s sinkFunc) error { return play(s, committed()) }}
			rec := do(newServer(f), "POST", "/v1/runs", hi, test.header...)
			if test.status != 200 {
				check(t, rec, test.status, test.want)
				return
			}
			if diff := cmp.Diff(test.want, brief(t, rec.Body.String())); rec.Code != 200 || diff != "" {
				t.Errorf("status %d (-want +got):\n%s", rec.Code, diff)
			}
		})
	}
}

func TestUnknownQueryNamesAreRefusedOnEveryRoute(t *testing.T) {
	const run = "/v1/runs/" + runText
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", run, "", "none is allowed"},
		{"GET", run + "/events/stream", "", "allowed are lastEventId"},
		{"POST", run + "/cancel", "", "none is allowed"},
		{"POST", "/v1/runs", hi, "none is allowed"},
		{"POST", "/v1/threads/t1/messages", hi, "none is allowed"},
		{"GET", "/v1/threads/t1", "", "none is allowed"},
		{"DELETE", "/v1/threads/t1", "", "allowed are child_strategy"},
		{"GET", "/v1/limits", "", "none is allowed"},
		{"GET", "/openapi.json", "", "none is allowed"},
		{"GET", "/v1/threads/t1/mailbox", "", "allowed are limit, cursor, status"},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			f := &fake{}
			check(t, do(newServer(f), test.method, test.path+"?lastEventID=1", test.body), 400, `{"error":"query has the unknown parameter \"lastEventID\", `+test.want+`","code":"invalid"}`)
			silent(t, f)
		})
	}
}

// A key that is not known, or no longer, belongs to no run that the client could have an
// event of: none is begun for it.
func TestAPostThatResumesUnderAKeyThatIsNotKnownBeginsNoRun(t *testing.T) {
	r := newReal(t)
	first := do(r, "POST", "/v1/runs", `{"threadId":"t1","messages":[{"role":"user","content":"hello"}]}`, "Idempotency-Key", "k1")
	frames := split(t, first.Body.String())
	last := frames[len(frames)-1].id
	for _, thread := range []string{"t1", "t2"} {
		body := `{"threadId":"` + thread + `","messages":[{"role":"user","content":"hello"}]}`
		check(t, do(r, "POST", "/v1/runs", body, "Idempotency-Key", "k2", "Last-Event-ID", last), 400,
			`{"error":"thread `+thread+`: no earlier request has this Idempotency-Key, or it is forgotten","code":"invalid"}`)
	}
	r.work()
	r.want("the runs", []string{"done"}, names(r.get("/v1/runs"), "status"))
	again := do(r, "POST", "/v1/runs", `{"threadId":"t1","messages":[{"role":"user","content":"hello"}]}`, "Idempotency-Key", "k1", "Last-Event-ID", last)
	r.want("under the key of the first", "run_finish\n", brief(t, again.Body.String()))
}
