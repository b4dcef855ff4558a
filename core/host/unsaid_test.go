package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// speaker is a model that says twelve letters, one every 130 ms.
type speaker struct{}

func (speaker) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for _, letter := range "abcdefghijkl" {
			select {
			case <-time.After(130 * time.Millisecond):
			case <-ctx.Done():
				yield(model.Delta{}, ctx.Err())
				return
			}
			if !yield(model.Delta{Type: model.DeltaText, Text: string(letter)}, nil) {
				return
			}
		}
		yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
	}
}

// timed collects the words and the end of a stream, with when they came.
type timed struct {
	began time.Time
	lines []string
}

func (s *timed) sink(e core.Event) error {
	switch e.Type {
	case core.EventTextDelta, core.EventStepRestarted, core.EventRunFinish, core.EventRunYield:
		s.lines = append(s.lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", time.Since(s.began), e.Type, e.Delta)))
	}
	return nil
}

// A reader in another process is shown what a model says as it is stored; what cannot be
// read of that is shown with the commit, and nothing twice.
func TestAReaderInAnotherProcessHearsWhatIsSaid(t *testing.T) {
	broken := errors.New("no route")
	tests := []struct {
		name   string
		spoil  func(began time.Time, way *storetest.Faulty)
		events agent.EventMode
		want   []string
		warned int // lines of the log
	}{
		{
			name: "all is well",
			want: []string{"1.05s text_delta abcd", "1.55s text_delta efgh", "2.05s text_delta ijkl", "2.05s run_finish"},
		},
		{
			name:   "an agent whose events are those of its commits",
			events: agent.EventsCommits,
			want:   []string{"2.05s text_delta abcdefghijkl", "2.05s run_finish"},
		},
		{
			name: "lists that fail",
			spoil: func(_ time.Time, way *storetest.Faulty) {
				way.OnRecords = func(context.Context, core.ThreadKey, string, string, int) ([]store.Record, error) { return nil, broken }
			},
			want:   []string{"2.05s text_delta abcdefghijkl", "2.05s run_finish"},
			warned: 1,
		},
		{
			name: "a list that lags: the first chunk comes behind the second",
			spoil: func(began time.Time, way *storetest.Faulty) {
				way.OnRecords = func(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
					found, err := way.Backend.Records(ctx, key, prefix, after, limit)
					if len(found) > 0 && time.Since(began) < 1500*time.Millisecond {
						found = found[1:]
					}
					return found, err
				}
			},
			want: []string{"1.55s text_delta abcd", "1.55s text_delta efgh", "2.05s text_delta ijkl", "2.05s run_finish"},
		},
		{
			name: "a chunk that is damaged",
			spoil: func(_ time.Time, way *storetest.Faulty) {
				way.OnRecord = func(_ storetest.Operation, found store.Record) store.Record {
					if strings.HasSuffix(found.Name, "#000001") && strings.HasPrefix(found.Name, "E#") {
						found.Payload = []byte("{}")
					}
					return found
				}
			},
			want:   []string{"1.05s text_delta abcd", "2.05s text_delta efghijkl", "2.05s run_finish"},
			warned: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				events := agent.EventsLive
				if tt.events != "" {
					events = tt.events
				}
				speaks := func(c *host.Options) {
					c.Agents.Models["m"] = binding(speaker{})
					c.Agents.Specs = []agent.Spec{{ID: "demo", Model: "m", Events: events}}
				}
				a := r.process("a", r.store, speaks)
				began := time.Now()
				way := &storetest.Faulty{Backend: r.store}
				if tt.spoil != nil {
					tt.spoil(began, way)
				}
				var log bytes.Buffer
				b := r.process("b", way, speaks, func(c *host.Options) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				run := make(chan core.ID, 1)
				done := make(chan error)
				go func() {
					_, err := a.Stream(t.Context(), submission("t1", "hi"), host.ListenerFunc(func(e core.Event) error {
						if e.Type == core.EventRunStart {
							run <- e.RunID
						}
						return nil
					}))
					done <- err
				}()
				time.Sleep(50 * time.Millisecond)
				got := timed{began: began}
				if err := b.Follow(t.Context(), local, <-run, host.ListenerFunc(got.sink)); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got.lines); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if lines := strings.Count(log.String(), "level=WARN"); lines != tt.warned {
					t.Errorf("%d warnings, want %d:\n%s", lines, tt.warned, log.String())
				}
			})
		})
	}
}

// What a person has cut off is the run's last message: its reader has the rest of it.
func TestAReaderOfACancelledRunHasItsLastWordsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		speaks := func(c *host.Options) {
			c.Agents.Models["m"] = binding(speaker{})
			c.Agents.Specs[0].Events = agent.EventsLive
		}
		a, b := r.process("a", r.store, speaks), r.process("b", r.store, speaks)
		run := make(chan core.ID, 1)
		done := make(chan error)
		began := time.Now()
		go func() {
			_, err := a.Stream(t.Context(), submission("t1", "hi"), host.ListenerFunc(func(e core.Event) error {
				if e.Type == core.EventRunStart {
					run <- e.RunID
				}
				return nil
			}))
			done <- err
		}()
		time.Sleep(50 * time.Millisecond)
		go func() {
			time.Sleep(1100 * time.Millisecond)
			if _, err := b.CancelThread(t.Context(), local, "t1"); err != nil {
				t.Error(err)
			}
		}()
		got := timed{began: began}
		if err := b.Follow(t.Context(), local, <-run, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, line := range got.lines {
			_, word, _ := strings.Cut(line, " text_delta ")
			text += word
		}
		want := transcript(t, b, "t1")
		if said := want[len(want)-1]; !strings.HasSuffix(said, text) || !strings.HasPrefix(text, "abcd") || len(got.lines) < 3 {
			t.Errorf("the reader has %q of %q", got.lines, said)
		}
	})
}

// A run that no request streams is shown as it is said where its agent says so.
func TestARunInTheBackgroundIsHeardWhereItsAgentSaysSo(t *testing.T) {
	for events, want := range map[agent.EventMode][]string{
		"":               {"2.05s text_delta abcdefghijkl", "2.05s run_finish"},
		agent.EventsLive: {"1.05s text_delta abcd", "1.55s text_delta efgh", "2.05s text_delta ijkl", "2.05s run_finish"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			speaks := func(c *host.Options) {
				c.Agents.Models["m"] = binding(speaker{})
				c.Agents.Specs = []agent.Spec{{ID: "demo", Model: "m", Events: events}}
			}
			a, b := r.process("a", r.store, speaks), r.process("b", r.store, speaks)
			receipt, err := a.Submit(t.Context(), submission("t1", "hi"))
			if err != nil {
				t.Fatal(err)
			}
			began, done := time.Now(), make(chan struct{})
			go func() {
				defer close(done)
				r.settle(a, core.ThreadKey{Tenant: "local", Thread: "t1"})
			}()
			time.Sleep(50 * time.Millisecond)
			got := timed{began: began}
			if err := b.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(got.sink)); err != nil {
				t.Fatal(err)
			}
			<-done
			if diff := cmp.Diff(want, got.lines); diff != "" {
				t.Errorf("events %q (-want +got):\n%s", events, diff)
			}
		})
	}
}

// Who comes late is shown at once all that was said until then, and who waits for a
// run of its own nothing of another's.
func TestWhoComesLateIsShownAllThatWasSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var words []string
		for i := range 42 { // the last at no time at which somebody looks
			words = append(words, fmt.Sprint(i, " "))
		}
		speaks := func(c *host.Options) {
			c.Agents.Models["m"] = binding(drawl(words))
			c.Agents.Specs[0].Events = agent.EventsLive
		}
		a, b := r.process("a", r.store, speaks), r.process("b", r.store, speaks)
		run := make(chan core.ID, 1)
		done := make(chan error)
		began := time.Now()
		go func() {
			_, err := a.Stream(t.Context(), submission("t1", "hi"), host.ListenerFunc(func(e core.Event) error {
				if e.Type == core.EventRunStart {
					run <- e.RunID
				}
				return nil
			}))
			done <- err
		}()
		time.Sleep(27500 * time.Millisecond)
		next, err := b.Submit(t.Context(), submission("t1", "and I"))
		if err != nil {
			t.Fatal(err)
		}
		got, own := timed{began: began}, timed{began: began}
		waits := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 21*time.Second) // of which 20 are its reserve
			defer cancel()
			waits <- b.Follow(ctx, local, next.RunID, host.ListenerFunc(own.sink))
		}()
		if err := b.Follow(t.Context(), local, <-run, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(<-done, <-waits); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, word := range words[:38] { // one each 700 ms, stored half a second later
			want = append(want, "27.5s text_delta "+strings.TrimSpace(word))
		}
		if diff := cmp.Diff(want, got.lines[:min(len(got.lines), 38)]); diff != "" || !strings.HasSuffix(got.lines[38], " text_delta 38") {
			t.Errorf("then %q (-want +got):\n%s", got.lines[38:], diff)
		}
		if diff := cmp.Diff([]string{"28.5s run_yield"}, own.lines); diff != "" {
			t.Errorf("who waits (-want +got):\n%s", diff)
		}
	})
}

// drawl is a model that says one word every 700 ms.
type drawl []string

func (d drawl) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for _, word := range d {
			time.Sleep(700 * time.Millisecond)
			if !yield(model.Delta{Type: model.DeltaText, Text: word}, nil) {
				return
			}
		}
		yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
	}
}
