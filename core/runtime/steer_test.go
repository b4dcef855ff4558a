package runtime_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Input that is steered to a streamed run while it gives its last answer is
// answered on the same stream, delta by delta: the stream keeps its claim.
func TestSteeredInputIsAnsweredOnTheRunningStream(t *testing.T) {
	w := newWorld(t, nil)
	var got events
	steered := false
	sink := func(e core.Event) error {
		if e.Type == core.EventTextDelta && !steered {
			steered = true
			more := submission("t1", "and more")
			more.Mode = mailbox.ModeSteer
			if _, err := w.Submit(t.Context(), more); err != nil {
				t.Error(err)
			}
		}
		return got.sink(e)
	}
	if _, err := w.Stream(t.Context(), submission("t1", "hello"), sink); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"run_start",
		"step_start", "text_delta You said", "text_delta : hello", "inference_complete", "step_end",
		"step_start", "text_delta You said: ", "text_delta and more", "inference_complete", "step_end",
		`run_finish {"type":"natural_end"}`,
	}
	if diff := cmp.Diff(want, got.lines); diff != "" {
		t.Error(diff)
	}
	if n := w.drain(t); n != 0 {
		t.Errorf("%d wake-ups were sent for a run that nobody else had to take", n)
	}
	transcript := []string{"user: hello", "assistant: You said: hello", "user: and more", "assistant: You said: and more"}
	if diff := cmp.Diff(transcript, w.transcript(t, "t1")); diff != "" {
		t.Error(diff)
	}
}
