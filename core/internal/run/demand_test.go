package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// letters are so many deltas of a letter each, and the end of the turn.
func letters(n int) (said []model.Delta) {
	for i := range n {
		said = append(said, say(string(rune('a'+i%26))))
	}
	return append(said, stopped)
}

// marks leaves a mark so long after it was called, which counts for so long by a clock
// that is fast by skew.
func (w *world) marks(t *testing.T, id core.ID, after, lasts time.Duration) {
	t.Helper()
	time.AfterFunc(after, func() {
		head := w.head(t, key)
		record, err := live.Mark{Run: id, Until: time.Now().Add(lasts).UnixMilli()}.Record(thread.Records{}, head)
		record.Version += uint64(after / time.Second) // as if the head had moved on
		if err == nil {
			err = w.store.Put(t.Context(), key, record)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// written notes when chunks are stored, as the times since it was called.
func written(w *world) (times *[]time.Duration) {
	began := time.Now()
	times = new([]time.Duration)
	w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
		if strings.HasPrefix(r.Name, "E#") {
			*times = append(*times, time.Since(began))
		}
		return w.store.Backend.Put(ctx, key, r)
	}
	return times
}

// From the look that finds a mark until the mark has expired chunks are written, the first
// with all that was said. A mark counts for a minute at most, whatever its clock says, and
// only for its run.
func TestChunksAreWrittenWhileAMarkStands(t *testing.T) {
	other := core.ID{9}
	type mark struct {
		run          core.ID // zero: the step's
		after, lasts time.Duration
	}
	tests := []struct {
		name        string
		marks       []mark
		first, last time.Duration // until when the mark counts; 0: no chunk is stored
	}{
		{name: "no mark"},
		{"a mark from before", []mark{{core.ID{}, 0, time.Minute}}, 2 * time.Second, time.Minute},
		{"a mark meanwhile", []mark{{core.ID{}, 5 * time.Second, time.Minute}}, 6 * time.Second, 65 * time.Second},
		{"a mark that is renewed", []mark{{core.ID{}, 5 * time.Second, time.Minute}, {core.ID{}, 50 * time.Second, time.Minute}}, 6 * time.Second, 110 * time.Second},
		{"a mark that has expired", []mark{{core.ID{}, 5 * time.Second, -time.Second}}, 0, 0},
		{"a clock that is slow", []mark{{core.ID{}, 5 * time.Second, 20 * time.Second}}, 6 * time.Second, 25 * time.Second},
		{"a clock that is an hour fast", []mark{{core.ID{}, 5 * time.Second, time.Hour}}, 6 * time.Second, 66 * time.Second},
		{"another run's", []mark{{other, 5 * time.Second, time.Minute}}, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{model: pacing(100*time.Millisecond, letters(1300)...), chunks: true}) // 130 s
				receipt := w.submit(t, key, "hi", "")
				head, times := w.take(t, key), written(w)
				for _, m := range tt.marks {
					if m.run.IsZero() {
						m.run = receipt.RunID
					}
					w.marks(t, m.run, m.after, m.lasts)
				}
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
					t.Fatal(err)
				}
				var first, last time.Duration
				if n := len(*times); n > 0 {
					first, last = (*times)[0], (*times)[n-1]
				}
				if first != tt.first || last > tt.last || last <= tt.last-time.Second && tt.last > 0 {
					t.Errorf("chunks are stored from %s to %s, want from %s to %s, or up to a second before", first, last, tt.first, tt.last)
				}
				w.complete(t, "abcdefghijklmnopqrstuvwxyz")
			})
		})
	}
}

// complete checks that the chunks of the thread are numbered from 0 on, and that what they
// say repeats a text, from its beginning.
func (w *world) complete(t *testing.T, text string) (said string) {
	t.Helper()
	records, err := w.store.Backend.Records(t.Context(), key, "E#", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if !strings.HasSuffix(r.Name, fmt.Sprintf("#%06d", i)) {
			t.Errorf("chunk %d is %s", i, r.Name)
		}
		if len(r.Payload) > 16384 {
			t.Errorf("chunk %d has %d bytes, at most 16384 are allowed", i, len(r.Payload))
		}
		events, err := live.Attempt{}.Events(thread.Records{}, store.Record{Name: r.Name, Payload: r.Payload})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			said += e.Delta
			if at, err := position.Parse(e.Position); err != nil || e.Type == core.EventTextDelta && at.End != len(said) {
				t.Errorf("%d bytes are said at %s", len(said), e.Position)
			}
		}
	}
	if !strings.HasPrefix(strings.Repeat(text, len(said)/len(text)+1), said) {
		t.Errorf("the chunks say %.100q", said)
	}
	return said
}

// Where writing stops and goes on, nothing is left out.
func TestNothingIsLeftOutWhereWritingStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: pacing(100*time.Millisecond, letters(300)...), chunks: true})
		receipt := w.submit(t, key, "hi", "")
		head, times := w.take(t, key), written(w)
		w.marks(t, receipt.RunID, 3*time.Second, 5*time.Second)  // found at 4 s
		w.marks(t, receipt.RunID, 15*time.Second, 5*time.Second) // found at 16 s
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, listener); err != nil {
			t.Fatal(err)
		}
		said := w.complete(t, "abcdefghijklmnopqrstuvwxyz")
		if len(said) < 190 || len(said) > 200 {
			t.Errorf("chunks have %d letters, want those until 20 s", len(said))
		}
		for _, at := range *times {
			if at < 4*time.Second || at > 8*time.Second && at < 16*time.Second || at > 20*time.Second {
				t.Errorf("a chunk is stored at %s", at)
			}
		}
	})
}

// However much was said before somebody asks, no chunk has more than 16 KB.
func TestChunksOfWhatWasSaidBeforeStaySmall(t *testing.T) {
	for _, text := range []string{"abcdefghij", "\x00\x01", `"\`, "\n\t", "é€😀", "\u2028"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := []model.Delta{say(strings.Repeat(text, 30000/len(text)))}
				for range 20 {
					said = append(said, say(strings.Repeat(text, 3)))
				}
				w := newWorld(t, options{model: pacing(200*time.Millisecond, append(said, stopped)...), chunks: true})
				receipt := w.submit(t, key, "hi", "")
				head := w.take(t, key)
				w.marks(t, receipt.RunID, time.Second, time.Minute)
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
					t.Fatal(err)
				}
				if said := w.complete(t, text); len(said) < 29000 {
					t.Errorf("chunks have %d bytes, want those until the end", len(said))
				}
			})
		})
	}
}

// A look costs one read of the mark besides the head, every 2 s of an inference, and none
// where a mark would change nothing.
func TestTheMarkIsReadWithTheHolderSLook(t *testing.T) {
	tests := []struct {
		events agent.EventMode
		want   []string
	}{
		{"", []string{"2s", "4s", "6s", "8s"}},
		{agent.EventsLive, nil},
		{agent.EventsCommits, nil},
	}
	for _, tt := range tests {
		t.Run(string(tt.events), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := pacing(300*time.Millisecond, letters(29)...) // 9 s
				w := newWorld(t, options{chunks: true, agents: spec(t, m, agent.Spec{Events: tt.events})})
				w.submit(t, key, "hi", "")
				head, began := w.take(t, key), time.Now()
				var looks []string
				w.store.OnRecords = func(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
					if prefix == "F#" {
						looks = append(looks, time.Since(began).String())
					}
					return w.store.Backend.Records(ctx, key, prefix, after, limit)
				}
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, looks); diff != "" {
					t.Errorf("the mark is read at (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Until when somebody follows goes with the run: to the next step under the same claim, and
// with the hint to the one that comes then.
func TestTheHintSaysUntilWhenTheRunIsFollowed(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := pacing(100*time.Millisecond, begin(0, "x", "echo"), argue(0, `{"text":"a"}`), model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, say("b"), stopped)
			w := newWorld(t, options{model: m, chunks: true})
			w.submit(t, key, "hi", "")
			until := time.Now().Add(time.Minute).UnixMilli()
			stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key), Keep: keep, Followed: until}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if keep {
				if stepped.Outcome != thread.Continue || stepped.Followed != until {
					t.Errorf("the step comes to %s, followed until %d, want %d", stepped.Outcome, stepped.Followed, until)
				}
				return
			}
			hint, ok := w.queue.Receive()
			for next := hint; ok; next, ok = w.queue.Receive() {
				hint = next
			}
			if hint.Followed != until {
				t.Errorf("the hint %+v, want it followed until %d", hint, until)
			}
		})
	}
}

// Who takes a step up that was given back is told as well.
func TestTheHintOfAStepThatWasGivenBackSaysUntilWhenTheRunIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: pacing(time.Second, letters(5)...), chunks: true})
		w.submit(t, key, "hi", "")
		head, until := w.take(t, key), time.Now().Add(time.Minute).UnixMilli()
		for _, ok := w.queue.Receive(); ok; _, ok = w.queue.Receive() { // of the submission
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, stop)
		if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: head, Followed: until}, nil); err != nil {
			t.Fatal(err)
		}
		if hint, ok := w.queue.Receive(); !ok || hint.Followed != until {
			t.Errorf("the hint %+v, want it followed until %d", hint, until)
		}
	})
}

// What nobody in another process waits for is not stored, unless the agent says so.
func TestWhoseWordsAreStored(t *testing.T) {
	tests := []struct {
		events   agent.EventMode
		followed time.Duration // from the step's beginning
		sink     history.Sink
		off      bool // the program keeps none
		want     int  // chunks
	}{
		{"", 0, listener, false, 0},
		{"", 0, nil, false, 0},
		{"", time.Minute, listener, false, 2},
		{"", time.Minute, nil, false, 2},
		{"", 1100 * time.Millisecond, nil, false, 1}, // to 1.1 s, before the second is due
		{"", -time.Second, nil, false, 0},
		{agent.EventsLive, 0, nil, false, 2},
		{agent.EventsLive, 0, listener, false, 2},
		{agent.EventsCommits, time.Minute, listener, false, 0},
		{agent.EventsLive, time.Minute, listener, true, 0},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			m := pacing(300*time.Millisecond, say("a"), say("b"), say("c"), say("d"), stopped)
			w := newWorld(t, options{chunks: !tt.off, agents: spec(t, m, agent.Spec{Events: tt.events})})
			w.submit(t, key, "hi", "")
			work := run.Work{Key: key, Head: w.take(t, key)}
			if tt.followed != 0 {
				work.Followed = time.Now().Add(tt.followed).UnixMilli()
			}
			if _, err := w.stepper.Step(t.Context(), work, tt.sink); err != nil {
				t.Fatal(err)
			}
			if got := stored(t, w); len(got) != tt.want {
				t.Errorf("events %q, followed for %s, listener %t: %q, want %d", tt.events, tt.followed, tt.sink != nil, got, tt.want)
			}
		})
	}
}
