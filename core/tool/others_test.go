package tool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// outside notes what calls do to other threads.
type outside struct{ did []string }

func (o *outside) ChildRun(_ context.Context, call tool.Call, _ core.ID) (core.Run, error) {
	o.did = append(o.did, call.Name+" reads")
	return core.Run{Steps: 2}, nil
}

func (o *outside) CancelRun(_ context.Context, call tool.Call, _ core.ID) (int, error) {
	o.did = append(o.did, call.Name+" cancels")
	return 2, nil
}

func (o *outside) SendMessage(_ context.Context, call tool.Call, m tool.Message) (core.ID, error) {
	o.did = append(o.did, call.Name+" sends "+m.Text)
	return core.ID{2}, nil
}

func (o *outside) FailedMessages(_ context.Context, call tool.Call) ([]tool.FailedMessage, error) {
	o.did = append(o.did, call.Name+" lists")
	return []tool.FailedMessage{{Tries: 2}}, nil
}

func (o *outside) RecoverMessages(_ context.Context, call tool.Call, again bool) (int, error) {
	o.did = append(o.did, fmt.Sprint(call.Name, " sends again: ", again))
	return 2, nil
}

// Each method of a call reaches the host, and is refused by name where that has no access.
func TestACallReachesOthers(t *testing.T) {
	tests := []struct {
		does    string
		do      func(tool.Call) (any, error)
		want    any
		refused string
	}{
		{"x reads", func(c tool.Call) (any, error) { return c.ChildRun(t.Context(), core.ID{1}) }, core.Run{Steps: 2}, "tool x cannot read another run here"},
		{"x cancels", func(c tool.Call) (any, error) { return c.CancelRun(t.Context(), core.ID{1}) }, 2, "tool x cannot cancel a run here"},
		{"x sends hi", func(c tool.Call) (any, error) { return c.Send(t.Context(), tool.Message{Text: "hi", Parent: true}) }, core.ID{2}, "tool x cannot send a message here"},
		{"x lists", func(c tool.Call) (any, error) { return c.FailedMessages(t.Context()) }, []tool.FailedMessage{{Tries: 2}}, "tool x cannot read messages here"},
		{"x sends again: true", func(c tool.Call) (any, error) { return c.RecoverMessages(t.Context(), true) }, 2, "tool x cannot send messages again here"},
	}
	for _, tt := range tests {
		o := &outside{}
		got, err := tt.do(tool.Call{Name: "x", Others: o})
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil || strings.Join(o.did, ",") != tt.does {
			t.Errorf("%q, %v (-want +got):\n%s", o.did, err, diff)
		}
		if _, err := tt.do(tool.Call{Name: "x"}); core.CodeOf(err) != core.CodeUnsupported || err.Error() != tt.refused {
			t.Errorf("%v, want %s", err, tt.refused)
		}
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	o := &outside{}
	c := tool.Call{Name: "x", Others: o}
	for _, tt := range []struct {
		message tool.Message
		want    string
	}{
		{tool.Message{Text: "hi"}, "message: 0 recipients, want one of parent, child and thread"},
		{tool.Message{Text: "hi", Parent: true, Thread: "t"}, "message: 2 recipients, want one of parent, child and thread"},
		{tool.Message{Text: "hi", Child: core.ID{1}, Thread: "t"}, "message: 2 recipients, want one of parent, child and thread"},
		{tool.Message{Text: "\n", Parent: true}, "message: the text is blank"},
		{tool.Message{Text: "hi", Parent: true, Name: "a#"}, `message: name "a#" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{tool.Message{Text: "hi", Thread: "a#"}, `message: thread "a#" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{tool.Message{Text: "hi", Parent: true, AgentID: "a#"}, `message: agent "a#" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
	} {
		if _, err := c.Send(t.Context(), tt.message); core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	for _, m := range []tool.Message{{Text: "hi", Child: core.ID{1}}, {Text: "hi", Thread: "t", Name: "first"}} {
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	if len(o.did) != 2 {
		t.Errorf("%q", o.did)
	}
}
