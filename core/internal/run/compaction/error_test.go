package compaction_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var errDown = errors.New("the store is down")

// second is a log of three rounds: a summary up to the first is in force, and one up to the
// second is asked for.
func second() setting {
	return setting{
		log:    append(conversation()[:2], asks(strings.Repeat("y", 4000)), answers("two"), asks("third"), names(4)),
		before: &thread.Summary{Text: "in force"},
	}
}

// A failure of the store is worth another try: it is the hint's.
func TestAHintFailsWithTheStore(t *testing.T) {
	tests := []struct {
		name  string
		fail  func(*world)
		want  string
		asked int
	}{
		{"head", func(w *world) { w.heads.err = errDown }, "compact t/t1: the store is down", 0},
		{"newest turn", func(w *world) { w.fail("LogBackwards", "", 1, errDown) }, "compact t/t1: read log of t/t1: the store is down", 0},
		{"summary that is asked for", func(w *world) { w.fail("Get", "Z#4", 1, errDown) }, "compact t/t1: the store is down", 0},
		{"summary in force", func(w *world) { w.fail("Get", "Z#2", 1, errDown) }, "compact t/t1: read summary: the store is down", 0},
		{"run", func(w *world) { w.fail("Get", "R#", 1, errDown) }, "compact t/t1: the store is down", 0},
		{"agent", func(w *world) { w.agents.err = pins.ErrStore }, "compact t/t1: the store of agents failed", 0},
		{"messages", func(w *world) { w.fail("LogBackwards", "", 2, errDown) }, "compact t/t1: read log of t/t1: the store is down", 0},
		{"counters", func(w *world) { w.fail("Admission", "", 1, errDown) }, "compact t/t1: look at the limits of the tenant: the store is down", 0},
		{"charge", func(w *world) { w.fail("Charge", "", 1, errDown) }, "compact t/t1: charge the tenant: charge run 01000000-0000-0000-0000-000000000000: the store is down", 1},
		{"put", func(w *world) { w.fail("Put", "Z#4", 1, errDown) }, "compact t/t1: put summary: the store is down", 1},
		{"what another has put", func(w *world) {
			w.store.OnPut = func(context.Context, core.ThreadKey, store.Record) error { return store.ErrConflict }
			w.fail("Get", "Z#4", 2, errDown)
		}, "compact t/t1: read summary: the store is down", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, m := second(), &talker{answers: []answer{says("so")}}
				s.limits = account.Limits{TokensADay: 10_000}
				w := newWorld(t, m, s)
				tt.fail(w)
				err := w.maker.Compact(t.Context(), key)
				if got := message(err); got != tt.want || w.log.String() != "" || len(m.asked) != tt.asked {
					t.Errorf("error %q, want %q; the model was asked %d times, want %d; logged %q", got, tt.want, len(m.asked), tt.asked, w.log.String())
				}
				if !errors.Is(err, errDown) && !errors.Is(err, pins.ErrStore) {
					t.Errorf("the error does not wrap its cause: %v", err)
				}
				if w.summary(t, 4) != nil {
					t.Error("there is a summary")
				}
			})
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// What no other try would fix is logged, and the hint is over with.
func TestAHintIsOverWithWhereNoOtherTryHelps(t *testing.T) {
	newer := encoded(t)(thread.Records{Schemas: thread.Schemas{Writes: 3, Reads: 3}}.EncodeEntry(&thread.Entry{}))
	const nobody, someone = `"" up_to=0 error=`, "01000000-0000-0000-0000-000000000000 up_to=4 error="
	tests := []struct {
		name  string
		spoil func(*world)
		want  string
		asked int
	}{
		{"the log ends early", func(w *world) { w.lose(store.LogName(6)) }, nobody + `"log of t/t1: found M#000000000005 where sequence 6 belongs: `, 0},
		{"the log begins late", func(w *world) { w.lose(store.LogName(3)) }, someone + `"log of t/t1 has nothing at 3: `, 0},
		{"the newest turn is damaged", func(w *world) { w.change(store.LogName(6), []byte("{")) }, nobody + `"log of t/t1 at 6: `, 0},
		{"the newest turn is a newer program's", func(w *world) { w.change(store.LogName(6), newer) }, nobody + `"log of t/t1 at 6: `, 0},
		{"a message is damaged", func(w *world) { w.change(store.LogName(3), []byte("{")) }, someone + `"log of t/t1 at 3: `, 0},
		{"the summary in force is missing", func(w *world) { w.lose("Z#2") }, nobody + `"summary Z#2 is missing: `, 0},
		{"the run is damaged", func(w *world) { w.change(recordname.Run(runID), []byte("{")) }, someone + `"decode run`, 0},
		{"the agent is gone", func(w *world) { w.agents.err = errors.New("no such agent") }, someone + `"no such agent"`, 0},
		{"the summary is too large for the store", func(w *world) { w.fail("Put", "Z#4", 1, store.ErrTooLarge) }, someone + `"put summary: `, 1},
		{"the summary that another has put is damaged", func(w *world) {
			w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
				return errors.Join(w.store.Backend.Put(ctx, key, store.Record{Name: r.Name, Payload: []byte("{")}), store.ErrConflict)
			}
		}, someone + `"decode summary`, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &talker{answers: []answer{says("so")}}
			w := newWorld(t, m, second())
			tt.spoil(w)
			w.compact(t)
			want := `level=WARN msg="no summary made, older messages omitted" run=` + tt.want
			if got := w.log.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 || len(m.asked) != tt.asked {
				t.Errorf("the model was asked %d times, want %d; logged %s\nwant %s", len(m.asked), tt.asked, got, want)
			}
		})
	}
}

// Whoever stops ends a hint with the cause of that, whatever the store or the model says; what
// the model had used by then is charged.
func TestAHintEndsWithItsContext(t *testing.T) {
	cause := errors.New("the host stops")
	tests := []struct {
		name    string
		spoil   func(w *world, m *talker, end func())
		charged int64
	}{
		{"while the log is read", func(w *world, _ *talker, end func()) {
			w.change(store.LogName(6), []byte("{"))
			w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
				if op.Method == "LogBackwards" {
					end()
				}
				return do(ctx)
			}
		}, 0},
		{"while the agent is resolved", func(w *world, _ *talker, end func()) {
			w.agents.err, w.agents.during = errors.New("no such agent"), end
		}, 0},
		{"under the model", func(_ *world, m *talker, end func()) { m.during = end }, 320},
		{"under a model that fails", func(_ *world, m *talker, end func()) {
			m.during, m.answers = end, []answer{fails(&model.Error{Kind: model.KindInvalid})}
		}, 0},
		{"under a model that fails for now", func(_ *world, m *talker, end func()) {
			m.during, m.answers = end, []answer{fails(&model.Error{Kind: model.KindOverloaded})}
		}, 0},
		{"between two calls", func(w *world, m *talker, end func()) {
			m.answers = []answer{fails(&model.Error{Kind: model.KindOverloaded})}
			w.env.Sleep = func(ctx context.Context, _ time.Duration) error {
				end()
				return context.Cause(ctx)
			}
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				s, m := second(), &talker{answers: []answer{says("so")}}
				s.limits = account.Limits{TokensADay: 10_000}
				w := newWorld(t, m, s)
				tt.spoil(w, m, func() { end(cause) })
				if err := w.maker.Compact(ctx, key); err != cause {
					t.Errorf("error %v, want %v", err, cause)
				}
				if got := w.charged(t); got != tt.charged || len(m.asked) > 1 || w.summary(t, 4) != nil || w.log.String() != "" {
					t.Errorf("%d tokens are charged, want %d; the model was asked %d times; logged %q", got, tt.charged, len(m.asked), w.log.String())
				}
			})
		})
	}
}
