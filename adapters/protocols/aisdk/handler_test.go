package aisdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// user is the JSON of a user message.
func user(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"role":"user","parts":[{"type":"text","text":%q}]}`, id, text)
}

func do(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

// frames is the body that carries a golden file.
func frames(t *testing.T, golden string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + golden + ".golden")
	if err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	for line := range strings.Lines(string(text)) {
		body.WriteString("data: " + line + "\n")
	}
	return body.String()
}

func TestChatStreamsARun(t *testing.T) {
	f := &fake{}
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", `{"id":"t1","trigger":"submit-message","extra":{"a":[1]},"messages":[`+user("m1", "echo: hello")+`]}`)
	if diff := cmp.Diff(frames(t, "tool"), rec.Body.String()); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, body (-want +got):\n%s", rec.Code, diff)
	}
	want := http.Header{
		"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}, "Connection": {"keep-alive"},
		"X-Accel-Buffering": {"no"}, "X-Vercel-Ai-Ui-Message-Stream": {"v1"},
	}
	if diff := cmp.Diff(want, rec.Result().Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestTheNewInputIsTheUserMessagesAtTheEnd(t *testing.T) {
	const assistant = `{"id":"a1","role":"assistant","parts":[{"type":"text","text":"hi"}]}`
	submission := func(thread, agent, key string, messages ...core.Message) mailbox.Submission {
		return mailbox.Submission{Thread: core.ThreadKey{Tenant: "acme", Thread: thread}, User: "ann", Opening: mailbox.Opening{AgentID: agent}, Key: mailbox.Key{Value: key, Loose: true}, Messages: messages}
	}
	tests := []struct {
		name, path, body string
		want             mailbox.Submission
	}{
		{"one", "/v1/ai-sdk/chat", `{"id":"t1","messages":[` + user("m1", "one") + `]}`,
			submission("t1", "demo", "message:m1", core.UserMessage("one").WithID("m1"))},
		{"after a history", "/v1/ai-sdk/chat", `{"id":"t1","messages":[` + user("m1", "one") + `,` + assistant + `,` + user("m2", "two") + `]}`,
			submission("t1", "demo", "message:m2", core.UserMessage("two").WithID("m2"))},
		{"several", "/v1/ai-sdk/chat", `{"id":"t1","messages":[` + assistant + `,` + user("m2", "two") + `,` + user("m3", "three") + `]}`,
			submission("t1", "demo", "message:m3", core.UserMessage("two").WithID("m2"), core.UserMessage("three").WithID("m3"))},
		{"text parts are joined, data parts skipped", "/v1/ai-sdk/chat",
			`{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"a"},{"type":"data-x","data":1},{"type":"text","text":" b"}]}]}`,
			submission("t1", "demo", "message:m1", core.UserMessage("a b").WithID("m1"))},
		{"content instead of parts", "/v1/ai-sdk/chat", `{"id":"t1","messages":[{"id":"m1","role":"user","content":"one"}]}`,
			submission("t1", "demo", "message:m1", core.UserMessage("one").WithID("m1"))},
		{"content as a list", "/v1/ai-sdk/chat",
			`{"id":"t1","messages":[{"id":"a1","role":"assistant","content":"hi"},{"id":"m1","role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":" b"}]}]}`,
			submission("t1", "demo", "message:m1", core.UserMessage("a b").WithID("m1"))},
		{"content without an id", "/v1/ai-sdk/chat", `{"id":"t1","messages":[{"role":"user","content":"one"}]}`,
			submission("t1", "demo", "", core.UserMessage("one"))},
		{"parts before content", "/v1/ai-sdk/chat", `{"id":"t1","messages":[{"id":"m1","role":"user","content":"old","parts":[{"type":"text","text":"new"}]}]}`,
			submission("t1", "demo", "message:m1", core.UserMessage("new").WithID("m1"))},
		{"threadId", "/v1/ai-sdk/chat", `{"threadId":"t2","messages":[` + user("m1", "one") + `]}`,
			submission("t2", "demo", "message:m1", core.UserMessage("one").WithID("m1"))},
		{"agent in the body", "/v1/ai-sdk/chat", `{"id":"t1","agentId":"other","messages":[` + user("m1", "one") + `]}`,
			submission("t1", "other", "message:m1", core.UserMessage("one").WithID("m1"))},
		{"agent in the path", "/v1/ai-sdk/agents/other/runs", `{"id":"t1","agentId":"demo","messages":[` + user("m1", "one") + `]}`,
			submission("t1", "other", "message:m1", core.UserMessage("one").WithID("m1"))},
		{"thread in the path", "/v1/ai-sdk/threads/t3/runs", `{"id":"t1","messages":[` + user("m1", "one") + `]}`,
			submission("t3", "demo", "message:m1", core.UserMessage("one").WithID("m1"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			rec := do(newServer(t, f), "POST", test.path, test.body)
			if rec.Code != 200 {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff([]mailbox.Submission{test.want}, f.submissions); diff != "" {
				t.Errorf("submission (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadChatRequestsNeverReachTheRuntime(t *testing.T) {
	with := func(messages string) string { return `{"id":"t1","messages":[` + messages + `]}` }
	tool := func(state string) string {
		return with(user("m1", "x") + `,{"id":"a1","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-danger","toolCallId":"c1","state":"` + state + `"}]}`)
	}
	tests := []struct {
		name, body string
		status     int
		want       string
	}{
		{"no body", ``, 400, `{"error":"body is not JSON at byte 0: unexpected end of JSON input","code":"invalid"}`},
		{"no JSON", `{"id":"t1",}`, 400, `{"error":"body is not JSON at byte 12: invalid character '}' looking for beginning of object key string","code":"invalid"}`},
		{"trailing data", `{}{}`, 400, `{"error":"body is not JSON at byte 3: invalid character '{' after top-level value","code":"invalid"}`},
		{"no object", `[]`, 400, `{"error":"body: the value is a JSON array, want an object","code":"invalid"}`},
		{"wrong type", `{"id":"t1","messages":"x"}`, 400, `{"error":"body: messages is a JSON string, want a list","code":"invalid"}`},
		{"neither parts nor content", with(`{"id":"m1","role":"user"}`), 400, `{"error":"messages[0] has no text and no file","code":"invalid"}`},
		{"blank content", with(`{"id":"m1","role":"user","content":" \u2003"}`), 400, `{"error":"messages[0] has no text and no file","code":"invalid"}`},
		{"content of an image", with(`{"id":"m1","role":"user","content":[{"type":"text","text":"see"},{"type":"image","image":"data:,"}]}`), 400,
			`{"error":"messages[0].content[1]: type \"image\" is not supported, allowed are text and file","code":"unsupported"}`},
		{"content of another kind", with(`{"id":"m1","role":"user","content":7}`), 400, `{"error":"messages[0].content must be a string or a list of {type, text} and {type, mediaType, url}","code":"invalid"}`},
		{"content of an assistant", with(`{"id":"m1","role":"assistant","content":7},` + user("m2", " ")), 400, `{"error":"messages[1] has no text and no file","code":"invalid"}`},
		{"no messages", `{"id":"t1"}`, 400, `{"error":"messages are empty, at least one is required","code":"invalid"}`},
		{"empty messages", with(``), 400, `{"error":"messages are empty, at least one is required","code":"invalid"}`},
		{"invisible text", with(user("m1", "\u200b\u202e\u2800")), 400, `{"error":"messages[0] has no text and no file","code":"invalid"}`},
		{"blank text", with(user("m1", " \n")), 400, `{"error":"messages[0] has no text and no file","code":"invalid"}`},
		{"no thread id", `{"messages":[` + user("m1", "x") + `]}`, 400, `{"error":"thread id is empty","code":"invalid"}`},
		{"bad thread id", `{"id":"a#b","messages":[` + user("m1", "x") + `]}`, 400, `{"error":"thread id \"a#b\" has the character '#', allowed are A-Z a-z 0-9 . _ : -","code":"invalid"}`},
		{"a thread id of dots", `{"id":"..","messages":[` + user("m1", "x") + `]}`, 400, `{"error":"thread id \"..\" vanishes from the path of an address, give it another name","code":"invalid"}`},
		{"a message id of dots", with(user(".", "x")), 400, `{"error":"messages[0].id \".\" vanishes from the path of an address, give it another name","code":"invalid"}`},
		{"no message id", with(user("", "x")), 400, `{"error":"messages[0].id is empty","code":"invalid"}`},
		{"bad message id", with(user("m1", "x") + `,` + user("m 2", "x")), 400, `{"error":"messages[1].id \"m 2\" has the character ' ', allowed are A-Z a-z 0-9 . _ : -","code":"invalid"}`},
		{"an empty file", with(`{"id":"m1","role":"user","parts":[{"type":"text","text":"see"},{"type":"file","mediaType":"image/png","url":"data:,"}]}`), 400,
			`{"error":"messages[0].parts[1]: the file is empty, want its bytes or a URL","code":"invalid"}`},
		{"regenerate without a name", `{"id":"t1","trigger":"regenerate-message","messages":[{"role":"assistant","parts":[]}]}`, 400,
			`{"error":"trigger regenerate-message: neither messageId nor the last of messages names a message","code":"invalid"}`},
		{"edit without text", `{"id":"t1","trigger":"submit-message","messageId":"m1","messages":[` + user("m1", " ") + `]}`, 400,
			`{"error":"messages[0] has no text and no file","code":"invalid"}`},
		{"an approval that says nothing", tool("approval-responded"), 400, `{"error":"tool part \"c1\": approval needs id and approved","code":"invalid"}`},
		{"an approval without a thread", strings.Replace(tool("output-available"), `"id":"t1"`, `"id":""`, 1), 400, `{"error":"thread id is empty","code":"invalid"}`},
		{"nothing decided", tool("approval-requested"), 400, `{"error":"no new message, and tool call \"c1\" is not decided: it is in state \"approval-requested\"","code":"invalid"}`},
		{"no output", tool("input-available"), 400, `{"error":"no new message, and tool call \"c1\" is not decided: it is in state \"input-available\"","code":"invalid"}`},
		{"denied before", tool("output-denied"), 400, `{"error":"no new message: the last of messages has role \"assistant\", want user","code":"invalid"}`},
		{"nothing new", with(`{"id":"a1","role":"assistant","parts":[{"type":"text","text":"hi"}]}`), 400, `{"error":"no new message: the last of messages has role \"assistant\", want user","code":"invalid"}`},
		{"a system message", with(`{"id":"s1","role":"system","parts":[{"type":"text","text":"hi"}]}`), 400, `{"error":"no new message: the last of messages has role \"system\", want user","code":"invalid"}`},
		{"unknown agent", `{"id":"t1","agentId":"nobody","messages":[` + user("m1", "x") + `]}`, 404, `{"error":"agent \"nobody\" not found","code":"not_found"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", test.body)
			if got := strings.TrimSpace(rec.Body.String()); rec.Code != test.status || got != test.want {
				t.Errorf("response %d %s\nwant   %d %s", rec.Code, got, test.status, test.want)
			}
			if len(f.calls) != 0 {
				t.Errorf("the runtime was called: %v", f.calls)
			}
		})
	}
}

func TestAnUnknownAgentOfThePathIsNamed(t *testing.T) {
	f := &fake{}
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/agents/nobody/runs", `{"id":"t1","messages":[`+user("m1", "x")+`]}`)
	if want := `{"error":"agent \"nobody\" not found","code":"not_found"}` + "\n"; rec.Code != 404 || rec.Body.String() != want || len(f.calls) > 0 {
		t.Errorf("answer %d %s after %v", rec.Code, rec.Body, f.calls)
	}
}

func TestNoAgentIsRefusedWithoutADefault(t *testing.T) {
	f := &fake{alone: true}
	h := newServer(t, f)
	rec := do(h, "POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[`+user("m1", "x")+`]}`)
	if rec.Code != 400 || rec.Body.String() != "{\"error\":\"agent id is empty\",\"code\":\"invalid\"}\n" || len(f.calls) != 0 {
		t.Errorf("response %d %s, calls %v", rec.Code, rec.Body, f.calls)
	}
}

func TestNoIdentityIsUnauthorized(t *testing.T) {
	f := &fake{}
	h := aisdk.New(f, nil)
	for _, route := range []string{"POST /v1/ai-sdk/chat", "GET /v1/ai-sdk/chat/t1/stream", "GET /v1/ai-sdk/threads/t1/messages", "POST /v1/ai-sdk/threads/t1/cancel"} {
		method, path, _ := strings.Cut(route, " ")
		rec := do(h, method, path, `{"id":"t1","messages":[`+user("m1", "x")+`]}`)
		if rec.Code != 401 || rec.Body.String() != "{\"error\":\"the request carries no identity\",\"code\":\"unauthorized\"}\n" || len(f.calls) != 0 {
			t.Errorf("%s: response %d %s, calls %v", route, rec.Code, rec.Body, f.calls)
		}
	}
}

func TestErrorsOfTheRuntime(t *testing.T) {
	begin := []core.Event{{Type: core.EventRunStart, RunID: runID}}
	const start = "data: {\"type\":\"start\",\"messageId\":\"01890000-0000-7000-8000-000000000001\"}\n\n" +
		"data: {\"type\":\"data-run-info\",\"data\":{\"runId\":\"01890000-0000-7000-8000-000000000001\",\"threadId\":\"\",\"agentId\":\"\"},\"transient\":true}\n\n"
	failed := func(text string) string {
		return start + "data: {\"type\":\"error\",\"errorText\":\"" + text + "\"}\n\ndata: {\"type\":\"finish\",\"finishReason\":\"error\"}\n\ndata: [DONE]\n\n"
	}
	tests := []struct {
		name   string
		stream func(sinkFunc) error
		status int
		want   string
	}{
		{"refused", func(sinkFunc) error { return core.Errorf(core.CodeFull, "thread is full") }, 429,
			"{\"error\":\"thread is full\",\"code\":\"full\"}\n"},
		{"another user's thread", func(sinkFunc) error { return core.Errorf(core.CodeForbidden, "belongs to bob") }, 404,
			"{\"error\":\"not found\",\"code\":\"not_found\"}\n"},
		{"panic before the stream", func(sinkFunc) error { panic("boom") }, 500,
			"{\"error\":\"internal error\",\"code\":\"internal\"}\n"},
		{"error in the stream", func(s sinkFunc) error {
			return errors.Join(play(s, begin), core.Errorf(core.CodeInternal, "table t1"))
		}, 200, failed("internal error")},
		{"panic in the stream", func(s sinkFunc) error { _ = play(s, begin); panic("boom") }, 200, failed("internal error")},
		{"the run goes on elsewhere", func(s sinkFunc) error {
			return play(s, append(begin, core.Event{Type: core.EventRunYield}))
		}, 200, failed("the stream ended before its run, which continues; reconnect to follow it")},
		{"the stream just ends", func(s sinkFunc) error { return play(s, begin) }, 200,
			failed("the stream ended before its run, which continues; reconnect to follow it")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{stream: func(_ context.Context, _ mailbox.Submission, s sinkFunc) error { return test.stream(s) }}
			rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[`+user("m1", "x")+`]}`)
			if diff := cmp.Diff(test.want, rec.Body.String()); rec.Code != test.status || diff != "" {
				t.Errorf("status %d, want %d; body (-want +got):\n%s", rec.Code, test.status, diff)
			}
		})
	}
}

func TestALongWaitForTheFirstEventIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{stream: func(ctx context.Context, _ mailbox.Submission, s sinkFunc) error {
			time.Sleep(40 * time.Second)
			return core.Errorf(core.CodeFull, "thread is full")
		}}
		rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[`+user("m1", "x")+`]}`)
		want := ": keep-alive\n\n: keep-alive\n\ndata: {\"type\":\"start\"}\n\ndata: {\"type\":\"error\",\"errorText\":\"thread is full\"}\n\n" +
			"data: {\"type\":\"finish\",\"finishReason\":\"error\"}\n\ndata: [DONE]\n\n"
		if diff := cmp.Diff(want, rec.Body.String()); rec.Code != 200 || diff != "" {
			t.Errorf("status %d, body (-want +got):\n%s", rec.Code, diff)
		}
	})
}

func TestResumeReplaysTheActiveRun(t *testing.T) {
	active := func(status core.RunStatus) func(core.Identity, string) (host.Thread, error) {
		return func(core.Identity, string) (host.Thread, error) {
			return host.Thread{ID: "t1", ActiveRun: runID, Status: status}, nil
		}
	}
	refuse := func(code core.Code) func(core.Identity, string) (host.Thread, error) {
		return func(core.Identity, string) (host.Thread, error) {
			return host.Thread{}, core.Errorf(code, "t1")
		}
	}
	tests := []struct {
		name, path string
		thread     func(core.Identity, string) (host.Thread, error)
		status     int
		body       string
		calls      []string
	}{
		{"running", "chat/t1", active(core.RunRunning), 200, frames(t, "tool"), []string{"Thread", "Run", "Follow"}},
		{"queued", "threads/t1", active(core.RunCreated), 200, frames(t, "tool"), []string{"Thread", "Run", "Follow"}},
		{"waiting", "chat/t1", active(core.RunWaiting), 204, "", []string{"Thread", "Run"}},
		{"idle", "chat/t1", func(core.Identity, string) (host.Thread, error) { return host.Thread{ID: "t1"}, nil }, 204, "", []string{"Thread"}},
		{"unknown", "chat/t1", refuse(core.CodeNotFound), 204, "", []string{"Thread"}},
		{"another user's", "chat/t1", refuse(core.CodeForbidden), 204, "", []string{"Thread"}},
		{"deleted", "chat/t1", refuse(core.CodeDeleted), 410, "{\"error\":\"t1\",\"code\":\"deleted\"}\n", []string{"Thread"}},
		{"store is down", "chat/t1", refuse(core.CodeUnavailable), 503,
			"{\"error\":\"the service cannot answer now, try again\",\"code\":\"unavailable\"}\n", []string{"Thread"}},
		{"bad id", "chat/a%23b", nil, 400,
			"{\"error\":\"thread id \\\"a#b\\\" has the character '#', allowed are A-Z a-z 0-9 . _ : -\",\"code\":\"invalid\"}\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{thread: test.thread, run: waitsWith()}
			rec := do(newServer(t, f), "GET", "/v1/ai-sdk/"+test.path+"/stream", "")
			if diff := cmp.Diff(test.body, rec.Body.String()); rec.Code != test.status || diff != "" {
				t.Errorf("status %d, want %d; body (-want +got):\n%s", rec.Code, test.status, diff)
			}
			if diff := cmp.Diff(test.calls, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	f := &fake{cancel: func(id core.Identity, thread string) (core.ID, error) {
		if id.Tenant != "acme" || id.User != "ann" || thread != "t1" {
			return core.ID{}, core.Errorf(core.CodeForbidden, "%s of %v", thread, id)
		}
		return runID, nil
	}}
	h := newServer(t, f)
	rec := do(h, "POST", "/v1/ai-sdk/threads/t1/cancel", "")
	if rec.Code != 202 || rec.Body.String() != "{\"status\":\"cancel_requested\",\"thread_id\":\"t1\"}\n" {
		t.Errorf("response %d %s", rec.Code, rec.Body)
	}
	rec = do(h, "POST", "/v1/ai-sdk/threads/t2/cancel", "")
	if rec.Code != 404 || rec.Body.String() != "{\"error\":\"active run of thread t2 not found\",\"code\":\"not_found\"}\n" {
		t.Errorf("response %d %s", rec.Code, rec.Body)
	}
}

func TestInterrupt(t *testing.T) {
	f := &fake{interrupt: func(id core.Identity, thread string) (mailbox.Receipt, error) {
		if id.Tenant != "acme" || id.User != "ann" || thread != "t1" {
			return mailbox.Receipt{}, core.Errorf(core.CodeForbidden, "%s of %v", thread, id)
		}
		return mailbox.Receipt{RunID: runID, Superseded: 3}, nil
	}}
	h := newServer(t, f)
	rec := do(h, "POST", "/v1/ai-sdk/threads/t1/interrupt", "")
	if rec.Code != 202 || rec.Body.String() != "{\"status\":\"interrupt_requested\",\"thread_id\":\"t1\",\"superseded_dispatches\":3}\n" {
		t.Errorf("response %d %s", rec.Code, rec.Body)
	}
	rec = do(h, "POST", "/v1/ai-sdk/threads/t2/interrupt", "")
	if rec.Code != 404 || rec.Body.String() != "{\"error\":\"active run of thread t2 not found\",\"code\":\"not_found\"}\n" {
		t.Errorf("response %d %s", rec.Code, rec.Body)
	}
}

func TestABufferedTransportQueues(t *testing.T) {
	const body = `{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"x"}]}]}`
	const ids = `"thread_id":"t1","run_id":"01890000-0000-7000-8000-000000000001","dispatch_id":"01890000-0000-7000-8000-000000000002"`
	const refusal = "{\"error\":\"this address cannot stream; use the streaming address, or accept application/json\",\"code\":\"not_acceptable\"}\n"
	running := func(core.Identity, string) (host.Thread, error) {
		return host.Thread{ID: "t1", ActiveRun: runID, Status: core.RunRunning}, nil
	}
	tests := []struct {
		name, method, path, accept string
		fake                       *fake
		status                     int
		want                       string
		calls                      []string
	}{
		{"chat", "POST", "/v1/ai-sdk/chat", "", &fake{}, 202, `{"status":"queued",` + ids + `,"stream_url":"https://stream.example/v1/ai-sdk/chat/t1/stream"}` + "\n", []string{"Submit"}},
		{"chat, claimed at once", "POST", "/v1/ai-sdk/chat", "*/*", &fake{submit: func(s mailbox.Submission) (mailbox.Receipt, error) {
			return mailbox.Receipt{ThreadID: "t1", RunID: runID, DispatchID: dispatchID, Running: true}, nil
		}}, 202, `{"status":"running",` + ids + `,"stream_url":"https://stream.example/v1/ai-sdk/chat/t1/stream"}` + "\n", []string{"Submit"}},
		{"chat, stream demanded", "POST", "/v1/ai-sdk/chat", "text/event-stream", &fake{}, 406, refusal, nil},
		{"chat, refused", "POST", "/v1/ai-sdk/chat", "", &fake{submit: func(mailbox.Submission) (mailbox.Receipt, error) {
			return mailbox.Receipt{}, core.Errorf(core.CodeBusy, "t1 is busy")
		}}, 409, "{\"error\":\"t1 is busy\",\"code\":\"busy\"}\n", []string{"Submit"}},
		{"resume of a running thread", "GET", "/v1/ai-sdk/chat/t1/stream", "", &fake{thread: running}, 406, refusal, []string{"Thread"}},
		{"resume of an idle thread", "GET", "/v1/ai-sdk/chat/t1/stream", "", &fake{}, 204, "", []string{"Thread"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newServer(t, test.fake, func(o *aisdk.Options) { o.Buffered, o.StreamURL = true, "https://stream.example" })
			rec := do(h, test.method, test.path, body, "Accept", test.accept)
			if diff := cmp.Diff(test.want, rec.Body.String()); rec.Code != test.status || diff != "" {
				t.Errorf("status %d, want %d; body (-want +got):\n%s", rec.Code, test.status, diff)
			}
			if diff := cmp.Diff(test.calls, test.fake.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAClientThatGoesAwayEndsNothing(t *testing.T) {
	synctest.Test(t, clientThatGoesAway)
}

func clientThatGoesAway(t *testing.T) {
	finished := false
	f := &fake{stream: func(_ context.Context, _ mailbox.Submission, s sinkFunc) error {
		_ = s(core.Event{Type: core.EventRunStart, RunID: runID})
		synctest.Wait() // until it is written
		if s(core.Event{Type: core.EventStepStart}) == nil {
			t.Error("the sink did not say that its client is gone")
		}
		finished = true
		return nil
	}}
	w := &broken{header: http.Header{}}
	newServer(t, f).ServeHTTP(w, httptest.NewRequest("POST", "/v1/ai-sdk/chat", strings.NewReader(`{"id":"t1","messages":[`+user("m1", "x")+`]}`)))
	if !finished || w.writes != 1 {
		t.Errorf("finished %t after %d writes, want true after 1", finished, w.writes)
	}
}

// broken is a connection whose client is gone.
type broken struct {
	header http.Header
	writes int
}

func (b *broken) Header() http.Header { return b.header }
func (b *broken) WriteHeader(int)     {}
func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, errors.New("broken pipe")
}
