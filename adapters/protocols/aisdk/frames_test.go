package aisdk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/core"
)

func TestEncoder(t *testing.T) {
	var encoder aisdk.Encoder
	var got []string
	for _, event := range []core.Event{
		{Type: core.EventRunStart, RunID: core.ID{15: 1}},
		{Type: core.EventStepStart},
		{Type: core.EventTextDelta, Delta: "Hello"},
		{Type: core.EventStepEnd},
		{Type: core.EventRunFinish, Termination: &core.Termination{Type: core.TerminationNatural}},
	} {
		for _, frame := range encoder.Encode(event) {
			got = append(got, string(frame))
		}
	}
	want := []string{
		`{"type":"start","messageId":"00000000-0000-0000-0000-000000000001"}`,
		`{"type":"data-run-info","data":{"runId":"00000000-0000-0000-0000-000000000001","threadId":"","agentId":""},"transient":true}`,
		`{"type":"start-step"}`,
		`{"type":"text-start","id":"txt_0"}`,
		`{"type":"text-delta","id":"txt_0","delta":"Hello"}`,
		`{"type":"text-end","id":"txt_0"}`,
		`{"type":"finish-step"}`,
		`{"type":"finish","finishReason":"stop"}`,
		`[DONE]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}
