package aisdk_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/core"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// continues are the calls that the client has when a script's response begins.
var continues = map[string][]string{
	"replay": {"earlier"}, "approved": {"call_1"}, "denied": {"call_1", "call_2"}, "again": {"call_1", "call_2"},
	"children_decided": {"a", childText + ":c1", childText + ":c2", childText + ":c3", childText + ":c4"},
}

// TestEncoderWritesTheOfficialSequences compares the frames of each
// testdata/*.events with the golden file beside it.
func TestEncoderWritesTheOfficialSequences(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.events")
	if err != nil || len(scripts) != 20 {
		t.Fatalf("found %d scripts, want 20 (%v)", len(scripts), err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(script, ".events")
		t.Run(filepath.Base(name), func(t *testing.T) {
			encoder := aisdk.Encoder{Continues: continues[filepath.Base(name)]}
			var got bytes.Buffer
			for _, e := range readEvents(t, script) {
				for _, frame := range encoder.Encode(e) {
					checkKeys(t, frame)
					fmt.Fprintf(&got, "%s\n", frame)
				}
			}
			if !encoder.Ended() {
				t.Error("the stream has no terminal frame")
			}
			golden := name + ".golden"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
}

func readEvents(t *testing.T, path string) []core.Event {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var events []core.Event
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e core.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		events = append(events, e)
	}
	return events
}

// keys600 lists the keys of each chunk in version 6.0.0 of the client that we
// use, required ones first; a key after "|" may be absent.
var keys600 = map[string]string{
	"data-state-snapshot":     "data | transient",
	"data-state-delta":        "data | transient",
	"data-inference-retry":    "data | transient",
	"data-model-switch":       "data | transient",
	"data-model-circuit":      "data | transient",
	"data-inference-complete": "data | transient",
	"data-prefix-changed":     "data | transient",
	"data-context-compacted":  "data | transient",
	"data-context-skipped":    "data | transient",
	"data-run-info":           "data | transient",
	"data-tool-call-resumed":  "data | transient",
	"start":                   "| messageId",
	"finish":                  "finishReason",
	"abort":                   "",
	"error":                   "errorText",
	"start-step":              "",
	"finish-step":             "",
	"text-start":              "id",
	"text-delta":              "delta id",
	"text-end":                "id",
	"reasoning-start":         "id",
	"reasoning-delta":         "delta id",
	"reasoning-end":           "id",
	"tool-input-start":        "toolCallId toolName | dynamic",
	"tool-input-delta":        "inputTextDelta toolCallId",
	"tool-input-available":    "input toolCallId toolName | dynamic",
	"tool-input-error":        "errorText input toolCallId toolName",
	"tool-approval-request":   "approvalId toolCallId",
	"tool-output-denied":      "toolCallId",
	"tool-output-available":   "output toolCallId | dynamic preliminary",
	"tool-output-error":       "errorText toolCallId | dynamic",

	"data-activity-snapshot": "data | id transient",
	"data-activity-delta":    "data | id transient",
	"source-url":             "sourceId url | title",
	"source-document":        "mediaType sourceId title | filename",
	"file":                   "mediaType url",
}

func checkKeys(t *testing.T, frame []byte) {
	t.Helper()
	if string(frame) == "[DONE]" {
		return
	}
	var chunk map[string]json.RawMessage
	if err := json.Unmarshal(frame, &chunk); err != nil {
		t.Fatalf("frame %s: %v", frame, err)
	}
	var kind string
	if err := json.Unmarshal(chunk["type"], &kind); err != nil {
		t.Fatalf("frame %s: %v", frame, err)
	}
	keys, known := keys600[kind]
	if !known {
		t.Fatalf("frame %s: 6.0.0 knows no such type", frame)
	}
	required, optional, _ := strings.Cut(keys, "|")
	for _, key := range strings.Fields(required) {
		if _, ok := chunk[key]; !ok {
			t.Errorf("frame %s: %s is missing", frame, key)
		}
	}
	allowed := append(strings.Fields(required), strings.Fields(optional)...)
	for key := range chunk {
		if key != "type" && !slices.Contains(allowed, key) {
			t.Errorf("frame %s: 6.0.0 refuses the key %s", frame, key)
		}
	}
}

func TestFailEndsAStreamInAnyState(t *testing.T) {
	tests := []struct {
		name   string
		events []core.Event
		want   []string
	}{
		{"before the first event", nil, []string{
			`{"type":"start"}`, `{"type":"error","errorText":"gone"}`, `{"type":"finish","finishReason":"error"}`, `[DONE]`}},
		{"in a text block", []core.Event{{Type: core.EventRunStart, RunID: runID}, {Type: core.EventTextDelta, Delta: "w1"}}, []string{
			`{"type":"text-end","id":"txt_0"}`, `{"type":"error","errorText":"gone"}`, `{"type":"finish-step"}`,
			`{"type":"finish","finishReason":"error"}`, `[DONE]`}},
		{"after the end", []core.Event{{Type: core.EventRunFinish}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var encoder aisdk.Encoder
			for _, e := range test.events {
				encoder.Encode(e)
			}
			var got []string
			for _, frame := range encoder.Fail("gone") {
				got = append(got, string(frame))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFinishReasonFollowsTheTermination(t *testing.T) {
	tests := []struct {
		termination core.TerminationType
		last        core.StopReason
		want        string
	}{
		{core.TerminationNatural, core.StopEndTurn, "stop"},
		{core.TerminationNatural, core.StopSequence, "stop"},
		{core.TerminationNatural, core.StopMaxTokens, "length"},
		{core.TerminationNatural, core.StopContextOverflow, "length"},
		{core.TerminationNatural, core.StopContentFilter, "content-filter"},
		{core.TerminationNatural, core.StopOther, "other"},
		{core.TerminationBehavior, core.StopToolUse, "stop"},
		{core.TerminationStopped, core.StopToolUse, "tool-calls"},
		{core.TerminationStopped, core.StopEndTurn, "stop"},
		{core.TerminationSuspended, core.StopToolUse, "tool-calls"},
		{core.TerminationBlocked, core.StopToolUse, "content-filter"},
	}
	for _, test := range tests {
		t.Run(string(test.termination)+" after "+string(test.last), func(t *testing.T) {
			var encoder aisdk.Encoder
			encoder.Encode(core.Event{Type: core.EventInferenceComplete, StopReason: test.last})
			frames := encoder.Encode(core.Event{Type: core.EventRunFinish, Termination: &core.Termination{Type: test.termination}})
			want := `{"type":"finish","finishReason":"` + test.want + `"}`
			if len(frames) != 2 || string(frames[0]) != want || string(frames[1]) != "[DONE]" {
				t.Errorf("frames %s, want %s and [DONE]", frames, want)
			}
		})
	}
}

func TestErrorTextNamesTheReason(t *testing.T) {
	tests := []struct {
		termination core.Termination
		want        string
	}{
		{core.Termination{Code: "model", Detail: "scripted model failure"}, "scripted model failure"},
		{core.Termination{Code: "timeout"}, "the run ended with the error timeout"},
		{core.Termination{}, "the run ended with an error"},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			test.termination.Type = core.TerminationError
			var encoder aisdk.Encoder
			frames := encoder.Encode(core.Event{Type: core.EventRunFinish, Termination: &test.termination})
			if want := `{"type":"error","errorText":"` + test.want + `"}`; len(frames) != 4 || string(frames[1]) != want {
				t.Errorf("frames %s, want %s second of 4", frames, want)
			}
		})
	}
}
