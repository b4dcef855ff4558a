package thread_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

func TestTotalsKeepTheNewestFingerprints(t *testing.T) {
	call := func(n byte) core.ToolCall { return core.ToolCall{Name: "f", Arguments: json.RawMessage{n}} }
	var totals thread.Totals
	totals.Note(core.ToolCall{ID: "c1", Name: "sum", Arguments: json.RawMessage(`{"a":1}`)})
	if diff := cmp.Diff([]byte{0x3a, 0x76, 0xbb, 0xe6}, totals.Calls); diff != "" {
		t.Error(diff)
	}
	before := totals
	for n := range byte(64) {
		totals.Note(call(n))
	}
	if len(totals.Calls) != 256 {
		t.Fatalf("%d bytes, want 64 fingerprints of 4", len(totals.Calls))
	}
	oldest, newest := thread.Fingerprint(call(0)), thread.Fingerprint(call(63))
	if got := totals.Calls[0]; got != byte(oldest>>24) {
		t.Errorf("the oldest begins with %x, want that of call 0", got)
	}
	if got := totals.Calls[255]; got != byte(newest) {
		t.Errorf("the newest ends in %x, want that of call 63", got)
	}
	if len(before.Calls) != 4 {
		t.Error("a copy of the totals changed")
	}
}

func TestTotalsKeepTheNewestTurns(t *testing.T) {
	call := func(n byte) core.ToolCall { return core.ToolCall{Name: "f", Arguments: json.RawMessage{n}} }
	text := func(texts ...string) (m core.Message) {
		for _, s := range texts {
			m.Content = append(m.Content, core.Block{Type: core.BlockText, Text: s})
		}
		return m
	}
	thought := core.Message{Content: []core.Block{{Type: core.BlockReasoning, Text: "so"}}, ToolCalls: []core.ToolCall{call(1), call(2)}}
	other := core.Message{ToolCalls: []core.ToolCall{call(2), call(1)}}
	var totals thread.Totals
	for _, m := range []core.Message{text("so"), text("s", "o"), text(), text(""), thought, other, thought} {
		totals.NoteTurn(&m)
	}
	calls, texts := totals.TurnPrints()
	wantCalls, wantTexts := []uint32{0, 0, 0, 0, 0xad75ecdd, 0xe66044a5, 0xad75ecdd}, []uint32{0x42521417, 0x42521417, 0, 0, 0, 0, 0}
	if diff := cmp.Diff(wantCalls, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantTexts, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	before := totals
	for range 58 {
		totals.NoteTurn(&other)
	}
	calls, texts = totals.TurnPrints()
	if len(calls) != 64 || len(texts) != 64 || calls[0] != 0 || texts[0] != 0x42521417 || calls[63] != 0xe66044a5 {
		t.Errorf("after 65 turns the ring has %d, from %x to %x; want 64 of them, from the second turn on", len(calls), texts[0], calls[63])
	}
	if len(before.Turns) != 7*8 {
		t.Error("a copy of the totals changed")
	}
}

func TestARunWithoutTurnsHasNoPrints(t *testing.T) {
	if calls, texts := (&thread.Totals{Turns: make([]byte, 7)}).TurnPrints(); calls != nil || texts != nil {
		t.Errorf("%v and %v, want none", calls, texts)
	}
}

// Texts and calls whose hash is 0 are something all the same: 0 stands for nothing.
func TestNoTextHasTheFingerprintOfNone(t *testing.T) {
	var totals thread.Totals
	totals.NoteTurn(&core.Message{Content: []core.Block{{Type: core.BlockText, Text: "68m* "}}})
	if _, texts := totals.TurnPrints(); len(texts) != 1 || texts[0] != 1 {
		t.Errorf("fingerprints %x, want 1", texts)
	}
	totals = thread.Totals{}
	totals.NoteTurn(&core.Message{ToolCalls: []core.ToolCall{{Name: "f", Arguments: json.RawMessage(`"beuBeb"`)}}})
	if calls, _ := totals.TurnPrints(); len(calls) != 1 || calls[0] != 1 {
		t.Errorf("fingerprints of calls %x, want 1", calls)
	}
}

func TestWhichStepsHaveFailed(t *testing.T) {
	var totals thread.Totals
	var got []int32
	for _, failed := range []bool{true, true, false, false, true} {
		totals.EndStep(failed)
		got = append(got, totals.ErrorSteps)
	}
	if diff := cmp.Diff([]int32{1, 2, 0, 0, 1}, got); diff != "" {
		t.Errorf("failed steps in a row (-want +got):\n%s", diff)
	}
	rounds := []struct {
		name    string
		results []core.ToolResult
		want    bool
	}{
		{"no calls", nil, false},
		{"one that failed", []core.ToolResult{{Status: "error", IsError: true}}, true},
		{"all that failed", []core.ToolResult{{Status: "invalid", IsError: true}, {Status: "unknown", IsError: true}, {Status: "set", IsError: true}, {IsError: true}}, true},
		{"one of two that failed, the second", []core.ToolResult{{Status: "ok"}, {Status: "error", IsError: true}}, false},
		{"one of two that failed", []core.ToolResult{{Status: "error", IsError: true}, {Status: "ok"}}, false},
		{"one that failed, and one that a person refused", []core.ToolResult{{Status: "error", IsError: true}, {Status: "denied", IsError: true}}, true},
		{"refused and cancelled alone", []core.ToolResult{{Status: "denied", IsError: true}, {Status: "cancelled", IsError: true}}, false},
		{"not executed", []core.ToolResult{{Status: "not_executed", IsError: true}}, false},
		{"a success beside one that was not executed", []core.ToolResult{{Status: "ok"}, {Status: "not_executed", IsError: true}}, false},
	}
	for _, tt := range rounds {
		var o thread.Outcomes
		for i := range tt.results {
			o.Add(&tt.results[i])
		}
		if o.Failed() != tt.want {
			t.Errorf("%s: the round has failed: %v, want %v", tt.name, o.Failed(), tt.want)
		}
	}
}

func TestFingerprintTellsCallsApart(t *testing.T) {
	call := func(name, arguments string) uint32 {
		return thread.Fingerprint(core.ToolCall{Name: name, Arguments: json.RawMessage(arguments)})
	}
	if a, b := call("sum", `{"a":1}`), call("sum", `{"a":1}`); a != b {
		t.Errorf("equal calls have %x and %x", a, b)
	}
	seen := map[uint32]string{}
	for _, c := range [][2]string{{"sum", `{"a":1}`}, {"sum", `{"a":2}`}, {"sub", `{"a":1}`}, {"sum{", `"a":1}`}, {"sum", ""}, {"", "sum"}} {
		f := call(c[0], c[1])
		if other, ok := seen[f]; ok {
			t.Errorf("%v and %s have the same fingerprint", c, other)
		}
		seen[f] = c[0] + " " + c[1]
	}
}
