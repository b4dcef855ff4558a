package aisdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

const (
	answered = "01890000-0000-7000-8000-000000000001" // the id of an assistant message, and of its run
	goneOn   = answered + ".3"
)

var errAbsent = core.Errorf(core.CodeNotFound, "no such message")

// What a request takes back is tried in the order of what it names, as long as the
// thread does not have it; what no try finds is new.
func TestARequestNamesWhatItTakesBack(t *testing.T) {
	again := func(agent, message string, texts ...string) mailbox.Submission {
		s := mailbox.Submission{
			Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, User: "ann", Opening: mailbox.Opening{AgentID: agent, Retake: &mailbox.Retake{Message: message, Keyed: true}}, Key: mailbox.Key{Loose: true},
		}
		for _, text := range texts {
			s.Messages = append(s.Messages, core.UserMessage(text).WithID(message))
		}
		return s
	}
	anew := mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, User: "ann", Opening: mailbox.Opening{AgentID: "demo"}, Key: mailbox.Key{Loose: true, Value: "message:m1"}, Messages: []core.Message{core.UserMessage("one").WithID("m1")},
	}
	with := func(s mailbox.Submission, request string) mailbox.Submission {
		s.Opening.Request = json.RawMessage(request)
		return s
	}
	other := anew
	other.Opening.AgentID = "other"
	m1, assistant := user("m1", "one"), `{"id":"`+answered+`","role":"assistant","parts":[]}`
	tests := []struct {
		name, path, body string
		want             []mailbox.Submission
	}{
		{"regenerate", "/v1/ai-sdk/chat", `{"id":"t1","trigger":"regenerate-message","messages":[` + m1 + `]}`,
			[]mailbox.Submission{again("", "m1"), anew}},
		{"regenerate an answer", "/v1/ai-sdk/chat", `{"id":"t1","trigger":"regenerate-message","messageId":"` + answered + `","messages":[` + m1 + `]}`,
			[]mailbox.Submission{again("", answered+".1"), again("", "m1"), anew}},
		{"regenerate what a run said later", "/v1/ai-sdk/chat", `{"id":"t1","trigger":"regenerate-message","messageId":"` + goneOn + `","messages":[` + m1 + `]}`,
			[]mailbox.Submission{again("", goneOn), again("", "m1"), anew}},
		{"regenerate by the user's message", "/v1/ai-sdk/chat", `{"id":"t1","trigger":"regenerate-message","messageId":"m1","messages":[` + m1 + `]}`,
			[]mailbox.Submission{again("", "m1"), anew}},
		{"regenerate behind an answer", "/v1/ai-sdk/chat", `{"id":"t1","trigger":"regenerate-message","messages":[` + m1 + `,` + assistant + `]}`,
			[]mailbox.Submission{again("", answered+".1")}},
		{"regenerate with an agent and fields", "/v1/ai-sdk/agents/other/runs", `{"id":"t1","plan":"gold","trigger":"regenerate-message","messages":[` + m1 + `]}`,
			[]mailbox.Submission{with(again("other", "m1"), `{"ai_sdk":{"plan":"gold"}}`), with(other, `{"ai_sdk":{"plan":"gold"}}`)}},
		{"edit", "/v1/ai-sdk/chat", `{"id":"t1","trigger":"submit-message","messageId":"m1","messages":[` + m1 + `]}`,
			[]mailbox.Submission{again("", "m1", "one"), anew}},
	}
	for _, buffered := range []bool{false, true} {
		for _, test := range tests {
			t.Run(fmt.Sprint(test.name, ", buffered ", buffered), func(t *testing.T) {
				f := &fake{}
				f.stream = func(context.Context, mailbox.Submission, sinkFunc) error { return errAbsent }
				f.submit = func(mailbox.Submission) (mailbox.Receipt, error) { return mailbox.Receipt{}, errAbsent }
				rec := do(newServer(t, f, func(o *aisdk.Options) { o.Buffered = buffered }), "POST", test.path, test.body)
				if diff := cmp.Diff(test.want, f.submissions); diff != "" || rec.Code != 404 {
					t.Errorf("status %d %s, submissions (-want +got):\n%s", rec.Code, rec.Body, diff)
				}
			})
		}
	}
}

// What a thread has, and will not take back, is refused as it is.
func TestARefusalToTakeBackIsNoReasonToSayItAnew(t *testing.T) {
	const regenerate, edit = `"trigger":"regenerate-message"`, `"trigger":"submit-message","messageId":"m1"`
	tests := []struct {
		name, request string
		refusal       error
		status, tries int
	}{
		{"superseded", regenerate, core.Errorf(core.CodeSuperseded, "it was taken back"), 409, 1},
		{"under way", regenerate, core.Errorf(core.CodeConflict, "it was said to a run that was under way"), 409, 1},
		{"unread, and the same", regenerate, mailbox.ErrUnread, 409, 2}, // the second finds it by its own id
		{"unread, and edited", edit, mailbox.ErrUnread, 409, 1},
		{"not now", edit, core.Errorf(core.CodeThrottled, "busy"), 503, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			f.stream = func(context.Context, mailbox.Submission, sinkFunc) error { return test.refusal }
			rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", `{"id":"t1",`+test.request+`,"messages":[`+user("m1", "one")+`]}`)
			if rec.Code != test.status || len(f.submissions) != test.tries {
				t.Errorf("status %d %s after %d tries, want %d after %d", rec.Code, rec.Body, len(f.submissions), test.status, test.tries)
			}
		})
	}
}
