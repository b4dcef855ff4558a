package aisdk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/core"
)

// A client is told of small outputs at once, and of a long one so that all of it
// together costs no more than some times what the tool puts out.
func TestALongOutputIsNotRepeatedWithEachPiece(t *testing.T) {
	encoder := aisdk.Encoder{Continues: []string{"call_1"}} // a call of the response before
	encoder.Encode(core.Event{Type: core.EventRunStart, RunID: runID})
	piece := strings.Repeat("x", 64)
	told, last, bytes := 0, "", 0
	for range 16_384 {
		for _, frame := range encoder.Encode(core.Event{Type: core.EventToolCallStreamDelta, CallID: "call_1", Delta: piece}) {
			checkKeys(t, frame)
			told, last, bytes = told+1, string(frame), bytes+len(frame)
		}
	}
	// 33 pieces until more than 2 KiB were told, and then a sixteenth more each time.
	if told != 131 || bytes > 17<<20 {
		t.Errorf("told %d times in %d bytes, want 131 times in at most 17 MiB", told, bytes)
	}
	var chunk struct {
		Output      string `json:"output"`
		Preliminary bool   `json:"preliminary"`
	}
	if err := json.Unmarshal([]byte(last), &chunk); err != nil || !chunk.Preliminary || len(chunk.Output) < 15<<16 {
		t.Errorf("the last is preliminary %t with %d bytes (%v), want most of 1 MiB", chunk.Preliminary, len(chunk.Output), err)
	}
}
