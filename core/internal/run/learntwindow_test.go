package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/store"
)

// served is a model behind a server that takes requests of so many bytes. It refuses
// longer ones, and says how many tokens a request may have, or nothing if says is 0.
type served struct {
	bytes, says int
	refused     int // requests so far
	shown       []int
}

func (s *served) Stream(ctx context.Context, r model.Request) iterator {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Text())
	}
	if n > s.bytes {
		s.refused++
		return func(yield func(model.Delta, error) bool) {
			yield(model.Delta{}, &model.Error{Kind: model.KindOverflow, Message: "too long", Limit: s.says})
		}
	}
	s.shown = append(s.shown, len(r.Messages))
	return replies(text("ok"))(ctx, model.Request{})
}

// strange are agents with a model of which nothing is known.
func strange(t *testing.T, m model.Model) *registry.Registry {
	t.Helper()
	r, err := registry.New(agent.Parts{
		Models:  map[string]agent.ModelBinding{"m": {Name: "small", Model: m, Provider: "vllm"}},
		Catalog: &catalog.Catalog{}, Specs: []agent.Spec{{ID: "demo", Model: "m", MaxRounds: new(0)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// windowAt is the window of the turn at a sequence.
func (w *world) windowAt(t *testing.T, seq uint64) core.Window {
	t.Helper()
	entry, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(seq)).Payload)
	if err != nil || entry.Window == nil {
		t.Fatalf("the entry %d has no window: %v", seq, err)
	}
	return *entry.Window
}

// A model of which nothing is known has a large window. Six messages of 6 KB are shown whole.
func TestAModelThatNobodyKnowsReadsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &served{bytes: 1 << 20}
		w := newWorld(t, options{agents: strange(t, m)})
		for range 6 {
			w.submit(t, key, strings.Repeat("x", 6<<10), mailbox.ModeQueue)
			w.finish(t, key, nil)
		}
		if diff := cmp.Diff([]int{1, 3, 5, 7, 9, 11}, m.shown); diff != "" {
			t.Errorf("messages that the model was shown (-want +got):\n%s", diff)
		}
	})
}

// A refusal teaches the process the model's window, for an hour: later requests are cut
// before they are sent. Each turn's record has what it was chosen by.
func TestARefusalTeachesTheWindow(t *testing.T) {
	tests := []struct {
		name        string
		bytes, says int
		want        int // what is learnt, in tokens
	}{
		{"the provider says it", 16_000, 4_096, 4_096},
		{"it says nothing", 32_000, 0, 8_192},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &served{bytes: tt.bytes, says: tt.says}
				w := newWorld(t, options{agents: strange(t, m)})
				var told []core.Event
				sink := func(e core.Event) error {
					if e.Type == core.EventInferenceRetry {
						told = append(told, core.Event{Reason: e.Reason, Limit: e.Limit, Failed: e.Failed})
					}
					return nil
				}
				say := func(thread string) {
					t.Helper()
					to := core.ThreadKey{Tenant: key.Tenant, Thread: thread}
					for range 12 {
						w.submit(t, to, strings.Repeat("x", 4<<10), mailbox.ModeQueue)
						w.finish(t, to, sink)
					}
				}
				say(key.Thread)
				if diff := cmp.Diff([]core.Event{{Reason: "context_overflow", Limit: tt.want, Failed: 1}}, told); diff != "" || m.refused != 1 {
					t.Fatalf("%d refusals, told (-want +got):\n%s", m.refused, diff)
				}
				var windows []core.Window
				for seq := uint64(2); seq <= 24; seq += 2 {
					w := w.windowAt(t, seq)
					windows = append(windows, core.Window{Refused: w.Refused, Limit: w.Limit, Known: w.Known})
				}
				at := 0
				for at < len(windows) && !windows[at].Refused {
					at++
				}
				want := make([]core.Window, 12)
				want[at] = core.Window{Refused: true, Limit: tt.want}
				for i := at + 1; i < len(want); i++ {
					want[i].Known = tt.want
				}
				if diff := cmp.Diff(want, windows); diff != "" {
					t.Errorf("records (-want +got):\n%s", diff)
				}
				say("another")
				if m.refused != 1 {
					t.Errorf("%d refusals, want none of a later thread", m.refused)
				}
				time.Sleep(time.Hour + time.Second)
				say("later")
				if m.refused != 2 {
					t.Errorf("%d refusals, want another one after an hour", m.refused)
				}
			})
		})
	}
}

// What is known of a model counts: a refusal without a number says nothing of its window.
func TestARefusalWithoutANumberTeachesNothingOfAKnownModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &served{bytes: 20_000}
		w := newWorld(t, options{agents: bound(t, m, 100_000, agent.Spec{}, nil)})
		for range 6 {
			w.submit(t, key, strings.Repeat("x", 4<<10), mailbox.ModeQueue)
			w.finish(t, key, nil)
		}
		got := w.windowAt(t, 12)
		if !got.Refused && m.refused == 0 || got.Limit != 0 || got.Known != 0 {
			t.Errorf("the window is %+v after %d refusals", got, m.refused)
		}
	})
}
