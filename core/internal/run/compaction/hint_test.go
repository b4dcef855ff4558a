package compaction_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Hints may be late, doubled or forged: only what the newest turn asks for is made, if
// there is none yet.
func TestAHintIsFollowedOnlyWhereASummaryIsAskedFor(t *testing.T) {
	another := func(policy agent.Compaction) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			other := compacting()
			other.Compaction = policy
			w.agents.agent = newWorld(t, &talker{}, setting{spec: agent.Spec{Context: other}}).agents.agent
		}
	}
	back := thread.Entry{Run: runID, Superseded: &thread.Range{From: 3, To: 4}}
	unasked := answers("unasked")
	unasked.Window = &core.Window{First: 1}
	tests := []struct {
		name   string
		log    []thread.Entry
		before *thread.Summary
		change func(*testing.T, *world)
		made   bool
	}{
		{name: "asked for", log: conversation(), made: true},
		{name: "records follow that are no turns", log: append(conversation(), thread.Entry{Run: runID, Step: 1}, asks("third")), made: true},
		{name: "the last record is asked about", log: append(conversation()[:3], names(4))},
		{name: "a newer turn asks for none", log: append(conversation(), asks("third"), unasked)},
		{name: "a newer turn says nothing of its window", log: append(conversation(), asks("third"), answers("unasked"))},
		{name: "the turn was taken back", log: append(conversation(), back)},
		{name: "no turn", log: conversation()[:1]},
		{name: "a message of a person names one", log: func() []thread.Entry {
			log := conversation()
			log[3].Message.Role = core.RoleUser
			return log
		}()},
		{name: "it is in force", log: conversation(), before: &thread.Summary{Text: "in force"}},
		{name: "one behind it is in force", log: append(conversation()[:3], names(1)), before: &thread.Summary{Text: "in force"}},
		{name: "it is there", log: conversation(), change: func(t *testing.T, w *world) {
			w.put(t, recordname.Summary(2), encoded(t)(thread.Records{}.EncodeSummary(2, &thread.Summary{Text: "another's"})))
		}},
		{name: "there is a reason why it is not", log: conversation(), change: func(t *testing.T, w *world) {
			w.put(t, recordname.Summary(2), encoded(t)(thread.Records{}.EncodeSummary(2, &thread.Summary{Skipped: thread.SkippedModel})))
		}},
		{name: "the thread is deleted", log: conversation(), change: func(_ *testing.T, w *world) { w.heads.head.Deleted = true }},
		{name: "there is no thread", log: conversation(), change: func(_ *testing.T, w *world) { w.heads.head.Version = 0 }},
		{name: "an empty thread", change: func(*testing.T, *world) {}},
		{name: "the run has no record", log: conversation(), change: func(_ *testing.T, w *world) { w.lose(recordname.Run(runID)) }},
		{name: "its agent compacts by itself", log: conversation(), change: another(agent.CompactInline)},
		{name: "its agent does not compact", log: conversation(), change: another(compaction.Off)},
		{name: "its agent says nothing of it", log: conversation(), change: func(t *testing.T, w *world) {
			a := *w.agents.agent
			a.Spec.Context, w.agents.agent = nil, &a
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &talker{answers: []answer{says("so")}}
			w := newWorld(t, m, setting{log: tt.log, before: tt.before})
			if tt.change != nil {
				tt.change(t, w)
			}
			w.compact(t)
			want := 0
			if tt.made {
				want = 1
			}
			if len(m.asked) != want || w.log.String() != "" {
				t.Errorf("the model was asked %d times, want %d; logged %q", len(m.asked), want, w.log.String())
			}
			if got := w.summary(t, 2); tt.made && (got == nil || got.Text != "so") {
				t.Errorf("the summary is %+v", got)
			}
		})
	}
}

// A long log is read a page at a time, from its end, and no further than is needed.
func TestALongLogIsReadInPages(t *testing.T) {
	log := conversation()
	for range 40 {
		log = append(log, thread.Entry{Run: runID, Step: 1})
	}
	m := &talker{answers: []answer{says("so")}}
	w := newWorld(t, m, setting{log: log})
	var pages []string
	w.store.OnLogBackwards = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
		pages = append(pages, fmt.Sprint(to, "-", from))
		return w.store.Backend.LogBackwards(ctx, key, from, to)
	}
	w.compact(t)
	if got, want := strings.Join(pages, " "), "44-29 28-13 12-1 2-1"; got != want || w.summary(t, 2) == nil {
		t.Errorf("the log was read as %s, want %s; the summary is %v", got, want, w.summary(t, 2))
	}
}
