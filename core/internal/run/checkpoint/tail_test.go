package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/store"
)

// aLog is a log whose messages have as many tokens as tokens says, and which
// notes what is read of it. Sequences in missing are not there.
type aLog struct {
	Store
	tokens  func(seq uint64) int
	window  *core.Window // of each turn: all messages are
	missing map[uint64]bool
	ranges  []string
}

func (l *aLog) LogBackwards(_ context.Context, _ core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	l.ranges = append(l.ranges, fmt.Sprintf("%d-%d", from, to))
	return func(yield func(store.Record, error) bool) {
		for seq := to; seq >= from; seq-- {
			message := core.UserMessage(strings.Repeat("four", l.tokens(seq)-8))
			message.Role = core.RoleAssistant
			payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Message: &message, Window: l.window})
			if !l.missing[seq] && !yield(store.Record{Name: store.LogName(seq), Payload: payload}, err) {
				return
			}
		}
	}
}

func each(tokens int) func(uint64) int { return func(uint64) int { return tokens } }

// shortAfter are messages of 1,000 tokens, and behind seq of 10.
func shortAfter(seq uint64) func(uint64) int {
	return func(at uint64) int {
		if at > seq {
			return 10
		}
		return 1000
	}
}

// readTails reads a log of so many records, whose state is known up to asOf.
func readTails(l *aLog, seq, asOf uint64) (first uint64, entries int, err error) {
	log := threadlog.NewBackwards(l, thread.Records{}, core.ThreadKey{}, seq, 0)
	t := newTail(seq, 0, window.Newest(32_000))
	for n := uint64(FirstTail); n > 0; n = t.missing(asOf) {
		if err := t.read(context.Background(), log, n); err != nil {
			return 0, 0, err
		}
	}
	first, in := t.from(asOf)
	return first, len(in), nil
}

func TestAColdStepReadsItsWindowInFewRanges(t *testing.T) {
	tests := []struct {
		name    string
		seq     uint64
		asOf    uint64
		tokens  func(uint64) int
		ranges  []string
		first   uint64
		entries int
	}{
		{"nothing", 0, 0, each(10), nil, 1, 0},
		{"a short thread at once", 30, 0, each(10), []string{"1-30"}, 1, 30},
		{"2 KB of text each in two ranges", 10_000, 10_000, each(692), []string{"9969-10000", "9954-9968"}, 9955, 46},
		{"8 KB each at once", 10_000, 10_000, each(2000), []string{"9969-10000"}, 9985, 16},
		{"200 B each, a few at first", 10_000, 10_000, each(58), []string{"9969-10000", "9841-9968", "9402-9840"}, 9450, 551},
		{"long ones before short ones, no more than four times as many", 10_000, 10_000, shortAfter(9968),
			[]string{"9969-10000", "9841-9968"}, 9938, 63},
		{"what the snapshot does not know, with the window", 10_000, 9900, each(692), []string{"9969-10000", "9901-9968"}, 9901, 100},
		{"what the snapshot does not know of a thread that has none", 200, 0, each(2000), []string{"169-200", "1-168"}, 1, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &aLog{tokens: tt.tokens}
			first, entries, err := readTails(l, tt.seq, tt.asOf)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.ranges, l.ranges); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
			if first != tt.first || entries != tt.entries {
				t.Errorf("begins at %d with %d entries, want %d with %d", first, entries, tt.first, tt.entries)
			}
		})
	}
}

// Where the newest turn says what it was shown, that is read and nothing else: at once,
// if it is long.
func TestAColdStepReadsWhatTheNewestTurnWasShown(t *testing.T) {
	tests := []struct {
		name    string
		window  core.Window
		asOf    uint64
		ranges  []string
		first   uint64
		entries int
	}{
		{"a few messages", core.Window{First: 9_990}, 10_000, []string{"9969-10000"}, 9_990, 11},
		{"many", core.Window{First: 8_000}, 10_000, []string{"9969-10000", "8000-9968"}, 8_000, 2_001},
		{"what a summary does not cover", core.Window{First: 9_900, Summary: 9_950}, 10_000, []string{"9969-10000", "9951-9968"}, 9_951, 50},
		{"all of it", core.Window{}, 10_000, []string{"9969-10000", "1-9968"}, 1, 10_000},
		{"what the stored state lacks", core.Window{First: 9_990}, 9_900, []string{"9969-10000", "9901-9968"}, 9_901, 100},
	}
	for _, tt := range tests {
		l := &aLog{tokens: each(10), window: &tt.window}
		first, entries, err := readTails(l, 10_000, tt.asOf)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.ranges, l.ranges); diff != "" || first != tt.first || entries != tt.entries {
			t.Errorf("%s: begins at %d with %d entries, want %d with %d; ranges (-want +got):\n%s", tt.name, first, entries, tt.first, tt.entries, diff)
		}
	}
}

func TestAGapInAColdLogIsCorrupt(t *testing.T) {
	for _, missing := range []uint64{10_000, 9_990, 9_969, 9_960} {
		l := &aLog{tokens: each(692), missing: map[uint64]bool{missing: true}}
		if _, _, err := readTails(l, 10_000, 10_000); core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("without %d: %v, want code corrupt", missing, err)
		}
	}
}
