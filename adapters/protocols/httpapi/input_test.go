package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

const ids = `"run_id":"` + runText + `","dispatch_id":"` + dispatchText + `"`

func TestInputIsQueued(t *testing.T) {
	text := func(s string) core.Block { return core.Block{Type: core.BlockText, Text: s} }
	submission := func(agent, key string, mode mailbox.Mode, messages ...core.Message) mailbox.Submission {
		return mailbox.Submission{Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, User: "ann", Opening: mailbox.Opening{AgentID: agent}, Mode: mode, Key: mailbox.Key{Value: key}, Messages: messages}
	}
	with := func(s mailbox.Submission, request string) mailbox.Submission {
		s.Opening.Request = json.RawMessage(request)
		return s
	}
	hi := core.Message{Role: core.RoleUser, Content: []core.Block{text("hi")}}
	tests := []struct {
		name, body, key string
		want            mailbox.Submission
	}{
		{"text", `{"messages":[{"role":"user","content":"hi"}]}`, "", submission("demo", "", "", hi)},
		{"blocks and an id", `{"messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"a"},{"text":"b","type":"text"}]},{"role":"user","content":"hi"}]}`, "",
			submission("demo", "", "", core.Message{ID: "m1", Role: core.RoleUser, Content: []core.Block{text("a"), text("b")}}, hi)},
		{"agentId", `{"agentId":"other","messages":[{"role":"user","content":"hi"}]}`, "", submission("other", "", "", hi)},
		{"agent_id and mode", `{"agent_id":"other","mode":"steer","messages":[{"role":"user","content":"hi"}]}`, "", submission("other", "", mailbox.ModeSteer, hi)},
		{"request", `{"request":{"plan":"gold"},"messages":[{"role":"user","content":"hi"}]}`, "", with(submission("demo", "", "", hi), `{"plan":"gold"}`)},
		{"null is no request", `{"request":null,"messages":[{"role":"user","content":"hi"}]}`, "", submission("demo", "", "", hi)},
		{"idempotency key", `{"messages":[{"role":"user","content":"hi"}]}`, "k-1", submission("demo", "http:k-1", "", hi)},
		{"longest key", `{"messages":[{"role":"user","content":"hi"}]}`, strings.Repeat("k", 128), submission("demo", "http:"+strings.Repeat("k", 128), "", hi)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			var header []string
			if test.key != "" {
				header = []string{"Idempotency-Key", test.key}
			}
			rec := do(newServer(f), "POST", "/v1/threads/t1/messages", test.body, header...)
			check(t, rec, 202, `{"status":"queued","thread_id":"t1",`+ids+`}`)
			if diff := cmp.Diff([]mailbox.Submission{test.want}, f.submissions); diff != "" {
				t.Errorf("submission (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInputThatRunsAtOnce(t *testing.T) {
	f := &fake{submit: func(mailbox.Submission) (mailbox.Receipt, error) {
		return mailbox.Receipt{ThreadID: "t1", RunID: runID, DispatchID: dispatchID, Running: true}, nil
	}}
	rec := do(newServer(f), "POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"hi"}]}`)
	check(t, rec, 202, `{"status":"running","thread_id":"t1",`+ids+`}`)
}

func TestBadInputNeverReachesTheRuntime(t *testing.T) {
	const chars = `, allowed are A-Z a-z 0-9 . _ : -`
	invalid := func(text string) string { return `{"error":"` + text + `","code":"invalid"}` }
	with := func(message string) string { return `{"messages":[` + message + `]}` }
	tests := []struct {
		name, body string
		status     int
		want       string
	}{
		{"no body", ``, 400, invalid(`body is empty, want an object`)},
		{"blanks", ` `, 400, invalid(`body is empty, want an object`)},
		{"no JSON", `{"messages":}`, 400, invalid(`body is not JSON at byte 13: invalid character '}' looking for beginning of value`)},
		{"cut", `{"messages":[`, 400, invalid(`body is not JSON at byte 14: unexpected end of JSON input`)},
		{"trailing data", `{"messages":[]}{}`, 400, invalid(`body is not JSON at byte 16: invalid character '{' after top-level value`)},
		{"not UTF-8", "{\"m\":\"a\xff\"}", 400, invalid(`body is not UTF-8 at byte 7`)},
		{"no object", `[]`, 400, invalid(`body is a list, want an object`)},
		{"null", `null`, 400, invalid(`body is null, want an object`)},
		{"unknown key", `{"messages":[],"model":"x","agent":"y"}`, 400, invalid(`unknown field \"model\" in body, did you mean \"mode\"?`)},
		{"key in another case", `{"Messages":[]}`, 400, invalid(`unknown field \"Messages\" in body, did you mean \"messages\"?`)},
		{"key twice", `{"mode":"queue","messages":[],"mode":"queue"}`, 400, invalid(`mode is given twice`)},
		{"key in both spellings", `{"agentId":"a","agent_id":"a","messages":[]}`, 400, invalid(`agent_id is given twice, as agentId too`)},
		{"wrong type", `{"agentId":1,"messages":[]}`, 400, invalid(`agentId is 1, want a string`)},
		{"null string", `{"mode":null,"messages":[]}`, 400, invalid(`mode is null, want a string`)},
		{"no messages", `{}`, 400, invalid(`messages is required`)},
		{"messages no list", `{"messages":{}}`, 400, invalid(`messages is an object, want a list`)},
		{"messages empty", `{"messages":[]}`, 400, invalid(`messages are empty, at least one is required`)},
		{"message no object", with(`"hi"`), 400, invalid(`messages[0] is \"hi\", want an object`)},
		{"message null", with(`null`), 400, invalid(`messages[0] is null, want an object`)},
		{"message with an unknown key", with(`{"role":"user","content":"hi","name":"ann"}`), 400, invalid(`unknown field \"name\" in messages[0], allowed are id, role, content`)},
		{"no role", with(`{"content":"hi"}`), 400, invalid(`messages[0].role is required`)},
		{"other role", with(`{"role":"system","content":"hi"}`), 400, invalid(`messages[0]: role \"system\", only user messages can be submitted`)},
		{"no content", with(`{"role":"user"}`), 400, invalid(`messages[0].content is required`)},
		{"content empty", with(`{"role":"user","content":""}`), 400, invalid(`messages[0].content has no text and no file`)},
		{"content blank", with(`{"role":"user","content":"hi"},{"role":"user","content":" \t\n"}`), 400, invalid(`messages[1].content has no text and no file`)},
		{"content of Unicode spaces", with(`{"role":"user","content":"\u00a0\u2003\u3000"}`), 400, invalid(`messages[0].content has no text and no file`)},
		{"no blocks", with(`{"role":"user","content":[]}`), 400, invalid(`messages[0].content has no text and no file`)},
		{"invisible text", with("{\"role\":\"user\",\"content\":\"\u200b\u2066\u3164\"}"), 400, invalid(`messages[0].content has no text and no file`)},
		{"blank blocks", with(`{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":" "}]}`), 400, invalid(`messages[0].content has no text and no file`)},
		{"content a number", with(`{"role":"user","content":7}`), 400, invalid(`messages[0].content is 7, want a string or a list of text and file blocks`)},
		{"block no object", with(`{"role":"user","content":["a"]}`), 400, invalid(`messages[0].content[0] is \"a\", want an object`)},
		{"block with an unknown key", with(`{"role":"user","content":[{"type":"text","text":"a","echo":1}]}`), 400, invalid(`unknown field \"echo\" in messages[0].content[0], allowed are type, text, media_type, data, url, filename`)},
		{"block of another type", with(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"}]}`), 400,
			`{"error":"messages[0].content[1]: type \"image\" is not supported, allowed are text and file","code":"unsupported"}`},
		{"a file that is no base64", with(`{"role":"user","content":[{"type":"file","media_type":"image/png","data":"%"}]}`), 400,
			invalid(`messages[0].content[0].data: illegal base64 data at input byte 0`)},
		{"a file that is a list of numbers", with(`{"role":"user","content":[{"type":"file","media_type":"image/png","data":[1]}]}`), 400,
			invalid(`messages[0].content[0].data is a list, want a string of base64`)},
		{"a file that is null", with(`{"role":"user","content":[{"type":"file","media_type":"image/png","data":null}]}`), 400,
			invalid(`messages[0].content[0].data is null, want a string of base64`)},
		{"a text with a file", with(`{"role":"user","content":[{"type":"text","text":"a","data":""}]}`), 400,
			invalid(`messages[0].content[0] is a text, which has no file; allowed are type, text`)},
		{"a block without a type", with(`{"role":"user","content":[{"text":"a"}]}`), 400,
			`{"error":"messages[0].content[0]: type \"\" is not supported, allowed are text and file","code":"unsupported"}`},
		{"a block of a type that is not supported, wrong in other ways", with(`{"role":"user","content":[{"data":7,"type":"image","type":"image"}]}`), 400,
			`{"error":"messages[0].content[0]: type \"image\" is not supported, allowed are text and file","code":"unsupported"}`},
		{"a file with a text", with(`{"role":"user","content":[{"type":"file","text":"a"}]}`), 400,
			invalid(`messages[0].content[0] is a file, which has no text; allowed are type, media_type, data, url, filename`)},
		{"an empty file", with(`{"role":"user","content":[{"type":"file","media_type":"image/png"}]}`), 400,
			invalid(`messages[0].content[0]: the file is empty, want its bytes or a URL`)},
		{"a file of this machine", with(`{"role":"user","content":[{"type":"file","media_type":"image/png","url":"file:///a"}]}`), 400,
			invalid(`messages[0].content[0]: the file's URL is not an absolute http or https address without a user`)},
		{"bad message id", with(`{"id":"m#1","role":"user","content":"hi"}`), 400, invalid(`messages[0]: id \"m#1\" has the character '#'` + chars)},
		{"bad mode", `{"mode":"later","messages":[{"role":"user","content":"hi"}]}`, 400, invalid(`mode \"later\" is unknown, allowed are queue, interrupt, steer, reject`)},
		{"threadId in the body", `{"threadId":"t2","messages":[{"role":"user","content":"hi"}]}`, 400, invalid(`unknown field \"threadId\" in body, allowed are agentId, messages, mode, request, priority, available_at, delay_ms, regenerate_from, replace_message`)},
		{"unknown agent", `{"agentId":"nobody","messages":[{"role":"user","content":"hi"}]}`, 404, `{"error":"agent \"nobody\" not found","code":"not_found"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			check(t, do(newServer(f), "POST", "/v1/threads/t1/messages", test.body), test.status, test.want)
			silent(t, f)
		})
	}
}

func TestBadNamesNeverReachTheRuntime(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":"hi"}]}`
	const thread = `{"error":"thread id \"a#b\" has the character '#', allowed are A-Z a-z 0-9 . _ : -","code":"invalid"}`
	const dots = `{"error":"thread id \"..\" vanishes from the path of an address, give it another name","code":"invalid"}`
	tests := []struct{ method, path, body, want string }{
		{"POST", "/v1/threads/a%23b/messages", body, thread},
		{"GET", "/v1/threads/a%23b/messages", "", thread},
		{"GET", "/v1/threads/a%23b", "", thread},
		{"POST", "/v1/threads/a%23b/cancel", "", thread},
		{"POST", "/v1/runs", `{"threadId":"a#b","messages":[{"role":"user","content":"hi"}]}`, thread},
		{"POST", "/v1/threads/%2E%2e/messages", body, dots},
		{"GET", "/v1/threads/%2e%2E", "", dots},
		{"POST", "/v1/runs", `{"threadId":"..","messages":[{"role":"user","content":"hi"}]}`, dots},
		{"POST", "/v1/threads/t1/messages", `{"messages":[{"id":".","role":"user","content":"hi"}]}`,
			`{"error":"messages[0]: id \".\" vanishes from the path of an address, give it another name","code":"invalid"}`},
		{"GET", "/v1/threads/" + strings.Repeat("x", 129), "", `{"error":"thread id is 129 bytes long, at most 128 are allowed","code":"invalid"}`},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			f := &fake{}
			check(t, do(newServer(f), test.method, test.path, test.body), 400, test.want)
			silent(t, f)
		})
	}
}

func TestBadIdempotencyKeys(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":"hi"}]}`
	for key, want := range map[string]string{
		"":                       `header Idempotency-Key is empty`,
		"a b":                    `header Idempotency-Key \"a b\" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`,
		strings.Repeat("k", 129): `header Idempotency-Key is 129 bytes long, at most 128 are allowed`,
	} {
		f := &fake{}
		check(t, do(newServer(f), "POST", "/v1/threads/t1/messages", body, "Idempotency-Key", key), 400, `{"error":"`+want+`","code":"invalid"}`)
		silent(t, f)
	}
}

func TestNoAgentIsRefusedWithoutADefault(t *testing.T) {
	f := &fake{alone: true}
	h := newServer(f)
	check(t, do(h, "POST", "/v1/runs", `{"messages":[{"role":"user","content":"hi"}]}`), 400, `{"error":"agent id is empty","code":"invalid"}`)
	silent(t, f)
}

func TestTheThreadOfARun(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":"hi"}]}`
	thread := func(id core.Identity, body string, header ...string) string {
		t.Helper()
		f := &fake{}
		h := newServer(f, func(o *httpapi.Options) {
			o.Authenticate = func(*http.Request) (core.Identity, error) { return id, nil }
		})
		if rec := do(h, "POST", "/v1/runs", body, header...); rec.Code != 200 {
			t.Fatalf("response %d %s", rec.Code, rec.Body)
		}
		return f.submissions[0].Thread.Thread
	}
	ann, bob := core.Identity{Tenant: "acme", User: "ann"}, core.Identity{Tenant: "acme", User: "bob"}
	if got := thread(ann, `{"threadId":"t7","messages":[{"role":"user","content":"hi"}]}`); got != "t7" {
		t.Errorf("named thread: %s", got)
	}
	first, second := thread(ann, body), thread(ann, body)
	if _, err := core.ParseID(first); err != nil || first == second {
		t.Errorf("new threads %s and %s, want two UUIDs", first, second)
	}
	const keyed = "9d2c821d-a9d1-8be7-985d-db109297e6ac"
	if a, b := thread(ann, body, "Idempotency-Key", "k1"), thread(ann, body, "Idempotency-Key", "k1"); a != keyed || b != keyed {
		t.Errorf("new threads %s and %s under one key, want %s", a, b, keyed)
	}
	if a, b := thread(ann, body, "Idempotency-Key", "k2"), thread(bob, body, "Idempotency-Key", "k1"); a == keyed || b == keyed {
		t.Errorf("threads %s and %s under other keys and users", a, b)
	}
}
