package aisdk_test

import (
	"fmt"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/core"
)

func ExampleEncoder() {
	var encoder aisdk.Encoder
	for _, event := range []core.Event{
		{Type: core.EventRunStart, RunID: core.ID{15: 1}},
		{Type: core.EventStepStart},
		{Type: core.EventTextDelta, Delta: "Hello"},
		{Type: core.EventStepEnd},
		{Type: core.EventRunFinish, Termination: &core.Termination{Type: core.TerminationNatural}},
	} {
		for _, frame := range encoder.Encode(event) {
			fmt.Printf("data: %s\n", frame)
		}
	}
	// Output:
	// data: {"type":"start","messageId":"00000000-0000-0000-0000-000000000001"}
	// data: {"type":"data-run-info","data":{"runId":"00000000-0000-0000-0000-000000000001","threadId":"","agentId":""},"transient":true}
	// data: {"type":"start-step"}
	// data: {"type":"text-start","id":"txt_0"}
	// data: {"type":"text-delta","id":"txt_0","delta":"Hello"}
	// data: {"type":"text-end","id":"txt_0"}
	// data: {"type":"finish-step"}
	// data: {"type":"finish","finishReason":"stop"}
	// data: [DONE]
}
