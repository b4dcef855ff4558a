package aisdk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

func TestMessagesThatTheThreadHasAreNotStoredAgain(t *testing.T) {
	run2 := core.ID{15: 2}
	stored := func(id string, run core.ID) core.Message {
		m := core.UserMessage(id).WithID(id)
		m.RunID = run
		return m
	}
	reply := core.Message{ID: "m2", Role: core.RoleAssistant, RunID: runID}
	tests := []struct {
		name   string
		thread []core.Message
		want   []string
	}{
		{"a new thread", nil, []string{"m1", "m2"}},
		{"the first is known", []core.Message{stored("m1", runID), reply}, []string{"m2"}},
		{"a repetition, both stored together", []core.Message{stored("m1", runID), stored("m2", runID)}, []string{"m1", "m2"}},
		{"a repetition, the first was known then", []core.Message{stored("m1", runID), stored("m2", run2)}, []string{"m2"}},
		{"other messages", []core.Message{stored("m0", runID)}, []string{"m1", "m2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			if test.thread != nil {
				f.messages = func(_ core.Identity, _ string, q host.MessageQuery) (host.MessagePage, error) {
					if q != (host.MessageQuery{Newest: true, Limit: 200}) {
						t.Errorf("query %+v", q)
					}
					return host.MessagePage{Messages: test.thread}, nil
				}
			}
			rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[`+user("m1", "one")+`,`+user("m2", "two")+`]}`)
			if rec.Code != 200 {
				t.Fatalf("response %d %s", rec.Code, rec.Body)
			}
			var got []string
			for _, m := range f.submissions[0].Messages {
				got = append(got, m.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || f.submissions[0].Key.Value != "message:m2" {
				t.Errorf("key %s, submitted (-want +got):\n%s", f.submissions[0].Key.Value, diff)
			}
		})
	}
}

func TestALookThatFailsRefusesTheRequest(t *testing.T) {
	body := `{"id":"t1","messages":[` + user("m1", "one") + `,` + user("m2", "two") + `]}`
	for code, status := range map[core.Code]int{core.CodeDeleted: 410, core.CodeForbidden: 404, core.CodeThrottled: 503} {
		f := &fake{messages: func(core.Identity, string, host.MessageQuery) (host.MessagePage, error) {
			return host.MessagePage{}, core.Errorf(code, "no")
		}}
		if rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", body); rec.Code != status || len(f.submissions) != 0 {
			t.Errorf("%s: response %d %s, want %d", code, rec.Code, rec.Body, status)
		}
	}
}
