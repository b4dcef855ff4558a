package position_test

import (
	"math"
	"slices"
	"testing"
	"testing/quick"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
)

var positionRun = core.ID{0x01, 0x90, 0xab, 15: 0xff}

const positionRunText = "0190ab00-0000-0000-0000-0000000000ff"

func TestPositionsHaveOneSpelling(t *testing.T) {
	tests := []struct {
		position position.Position
		text     string
	}{
		{position.Position{Run: positionRun, Step: 1, Kind: position.RunStart}, positionRunText + ".1.0.0-0-a"},
		{position.Position{Run: positionRun, Step: 12, Attempt: 34, Block: 5, End: 678, Kind: 'f'}, positionRunText + ".12.34.5-678-f"},
		{position.Position{Run: positionRun, Step: 2, Attempt: math.MaxUint64, Block: 9999, Kind: 'm'}, positionRunText + ".2.18446744073709551615.9999-0-m"},
	}
	for _, tt := range tests {
		if got := tt.position.String(); got != tt.text {
			t.Errorf("%+v is written %s, want %s", tt.position, got, tt.text)
		}
		if got, err := position.Parse(tt.text); err != nil || got != tt.position {
			t.Errorf("%s is read as %+v, %v", tt.text, got, err)
		}
	}
}

func TestWhatIsNoPositionIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "x", positionRunText, positionRunText + ".", "1.3.0-0-a",
		positionRunText + ".1.3.0-0-", positionRunText + ".1.3.0-0", positionRunText + ".1.3.0-0-aa", positionRunText + ".1.3.0-0-a ",
		positionRunText + ".+1.3.0-0-a", positionRunText + ".01.3.0-0-a", positionRunText + ".-1.3.0-0-a", positionRunText + ".1.-3.0-0-a",
		positionRunText + ".1.3.-1-0-a", positionRunText + ".1.3.0--1-a", positionRunText + ".1.3.0-0-l", positionRunText + ".1.3.0-0-t",
		positionRunText + ".99999999999999999999.1.0-0-a", positionRunText + ".1.99999999999999999999.0-0-a",
		"0190AB00-0000-0000-0000-0000000000ff.1.3.0-0-a", "0190ab00.0000.0000.0000.0000000000ff.1.3.0-0-a",
	} {
		if p, err := position.Parse(text); core.CodeOf(err) != core.CodeInvalid || p != (position.Position{}) {
			t.Errorf("%q is read as %+v, %v; want code invalid", text, p, err)
		}
	}
}

func TestKindsOfEvents(t *testing.T) {
	want := map[core.EventType]position.Kind{
		core.EventRunStart: 'a', core.EventStepStart: 'b', core.EventStepRestarted: 'c', core.EventToolCallStart: 'd',
		core.EventReasoningDelta: 'e', core.EventTextDelta: 'f', core.EventToolCallDelta: 'g', core.EventToolCallReady: 'h',
		core.EventInferenceComplete: 'i', core.EventInferenceFailed: 'n', core.EventToolCallDone: 'j', core.EventStepEnd: 'k', core.EventRunFinish: 'm',
		core.EventReasoningEncrypted: 'o', core.EventTextAnnotations: 'h', core.EventStateDelta: 'p', core.EventError: 's',
	}
	for event, kind := range want {
		if got, ok := position.KindOf(event); got != kind || !ok {
			t.Errorf("%s is %q, %t, want %q", event, got, ok, kind)
		}
	}
	for _, event := range []core.EventType{core.EventRunYield, core.EventToolCallSuspended, core.EventInferenceRetry, core.EventPrefixChanged, core.EventContextCompacted, core.EventContextSkipped, core.EventModelSwitch, core.EventModelCircuit, core.EventToolCallCancel,
		core.EventToolCallResumed, core.EventStateSnapshot, core.EventMessagesSnapshot, core.EventActivitySnapshot, ""} {
		if got, ok := position.KindOf(event); got != 0 || ok {
			t.Errorf("%s is %q, want no kind", event, got)
		}
	}
}

// stream is a run's stream in order: two attempts at the first step, a step whose
// inference failed, and a third one.
var stream = []string{
	".1.0.0-0-a",
	".1.1.0-0-b", ".1.1.0-0-d", ".1.1.0-4-g", ".1.1.9999-0-c",
	".1.2.0-0-b",
	".1.2.0-3-e", ".1.2.0-3-o", ".1.2.1-0-d", ".1.2.1-3-f", ".1.2.1-3-g", ".1.2.1-12-g", ".1.2.2-0-d", ".1.2.2-5-g",
	".1.2.0-3-h", ".1.2.1-12-h", ".1.2.2-5-h", ".1.2.3-0-i", ".1.2.3-0-p",
	".1.2.1-0-j", ".1.2.2-0-j", ".1.2.9999-0-q", ".1.2.9999-0-k",
	".2.2.0-0-b", ".2.2.0-0-n", ".2.2.0-0-p", ".2.2.9999-0-k",
	".3.2.0-0-b", ".3.2.0-10-f", ".3.2.1-0-i", ".3.2.9999-0-k",
	".1.2.9999-0-r", ".1.2.9999-0-s", ".3.2.9999-0-m", // the run's end, whatever step it names
}

func TestPositionsAreInTheOrderOfTheStream(t *testing.T) {
	positions := make([]position.Position, len(stream))
	for i, text := range stream {
		var err error
		if positions[i], err = position.Parse(positionRunText + text); err != nil {
			t.Fatal(err)
		}
	}
	restarted := slices.Index(stream, ".1.1.9999-0-c")
	positions = slices.Delete(positions, restarted, restarted+1) // it tells of what follows and has no order within its own attempt
	for i, p := range positions {
		for j, q := range positions {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := p.Compare(q); got != want {
				t.Errorf("%s compared with %s is %d, want %d", p, q, got, want)
			}
		}
	}
}

func TestWhichEventsAreOfAnInference(t *testing.T) {
	got := ""
	for _, kind := range "abcdefghijklmnopqrst" {
		if (position.Position{Kind: position.Kind(kind)}).OfInference() {
			got += string(kind)
		}
	}
	if got != "bcdefghinop" {
		t.Errorf("the kinds %q are, want those from the step's start to the complete turn or its failure, and what it changed, bcdefghinop", got)
	}
}

// generated makes a position of numbers small enough to meet others.
func generated(n uint32) position.Position {
	kinds := "abcdefghijkmnopqrs"
	return position.Position{
		Run: positionRun, Step: int(n>>1) % 2, Attempt: uint64(n>>2) % 2, Block: int(n>>3) % 2, End: int(n>>4) % 2,
		Kind: position.Kind(kinds[int(n>>5)%len(kinds)]),
	}
}

func TestCompareIsAnOrder(t *testing.T) {
	order := func(a, b, c uint32) bool {
		p, q, r := generated(a), generated(b), generated(c)
		switch {
		case p.Compare(q) != -q.Compare(p), p.Compare(p) != 0:
			return false
		case p.Compare(q) <= 0 && q.Compare(r) <= 0:
			return p.Compare(r) <= 0
		}
		return true
	}
	if err := quick.Check(order, &quick.Config{MaxCount: 50_000}); err != nil {
		t.Error(err)
	}
}

func TestAPositionIsWrittenWithoutAllocation(t *testing.T) {
	p, b := position.Position{Run: positionRun, Step: 12, Attempt: 34, Block: 5, End: 678, Kind: 'f'}, make([]byte, 0, 96)
	if n := testing.AllocsPerRun(100, func() { b, _ = p.AppendText(b[:0]) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// FuzzParsePosition checks that a position that is accepted is written as it was
// read.
func FuzzParsePosition(f *testing.F) {
	for _, seed := range append(stream, "", ".+1.3.0-0-a", ".1.3.0-0-aa", ".1.3.-1-0-a", ".99999999999999999999.1.0-0-a") {
		f.Add(positionRunText + seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := position.Parse(text)
		switch {
		case err != nil && core.CodeOf(err) != core.CodeInvalid:
			t.Fatalf("%q: %v", text, err)
		case err == nil && (p.String() != text || p.Step < 0 || p.Block < 0 || p.End < 0):
			t.Fatalf("%q is read as %+v", text, p)
		}
	})
}
