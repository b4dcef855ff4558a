package mcp

import (
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestWhatIsToldOfAModelThatFails(t *testing.T) {
	tests := []struct {
		event core.Event
		want  string
	}{
		{core.Event{Type: core.EventInferenceRetry, Wait: 500}, "the model failed and is asked again"},
		{core.Event{Type: core.EventModelSwitch, From: "a", Model: "b"}, "the model failed and another one is asked"},
		{core.Event{Type: core.EventModelCircuit, Status: "open", Wait: 29_001}, "the model fails too often and is asked again in 30 s"},
		{core.Event{Type: core.EventModelCircuit, Status: "closed"}, ""},
		{core.Event{Type: core.EventPrefixChanged, Reason: "cut"}, ""},
		{core.Event{Type: core.EventContextCompacted, UpTo: 4}, ""},
		{core.Event{Type: core.EventContextSkipped, UpTo: 4, Reason: "stale"}, ""},
	}
	for _, tt := range tests {
		if got := progressOf(tt.event); got != tt.want {
			t.Errorf("%s is told as %q, want %q", tt.event.Type, got, tt.want)
		}
	}
}
