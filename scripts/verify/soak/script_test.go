package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScriptedModelAsDocumented(t *testing.T) {
	tests := []struct {
		user   string
		called bool
		denied bool
		want   turn
		fails  bool
	}{
		{user: "echo: t1.2", want: turn{Calls: []string{"t1.2"}}},
		{user: "echo: t1.2", called: true, want: turn{Text: "Echo: t1.2"}},
		{user: "parallel: a, b", want: turn{Calls: []string{"a", "b"}}},
		{user: "parallel: a, b", called: true, want: turn{Text: "Echo: a, b"}},
		{user: "approve: t1.2", want: turn{Calls: []string{"t1.2"}}},
		{user: "approve: t1.2", called: true, want: turn{Text: "Done: t1.2"}},
		{user: "approve: t1.2", called: true, denied: true, want: turn{Text: "The call of danger was denied."}},
		{user: "slow: 3", want: turn{Text: "w1 w2 w3"}},
		{user: "think: x", want: turn{Text: "I thought about it.", Reasoning: "Thinking about x"}},
		{user: "hello", want: turn{Text: "You said: hello"}},
		{user: "fail", fails: true},
	}
	for _, tt := range tests {
		got, ok := scripted(tt.user, tt.called, tt.denied)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok == tt.fails {
			t.Errorf("%q after tools: %v: ok %v, turn (-want +got):\n%s", tt.user, tt.called, ok, diff)
		}
	}
}
