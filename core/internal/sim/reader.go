package sim

import (
	"context"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	runtime "github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// said is what a model has said in one attempt at a step.
type said struct {
	host *host
	text string
}

// speaks notes the words that a model is about to generate. goesOn: after those of the
// previous call.
func (th *threadState) speaks(h *host, s script, goesOn bool) (say func(text string)) {
	if all := th.said[s.run]; goesOn {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].host == h {
				return func(text string) { all[i].text += text }
			}
		}
	}
	attempt := &said{host: h}
	th.said[s.run] = append(th.said[s.run], attempt)
	return func(text string) { attempt.text += text }
}

// reading is a client's part of the words of a run, step by step. From every source, they
// are the words of one attempt at the step so far, and in the end those of the log.
type reading struct {
	th    *threadState
	steps map[int]*words
	whole bool // it has the run from its beginning
	// follows means that another process infers, as far as the client can know.
	follows bool
}

// words are those of a step.
type words struct {
	attempt uint64
	text    string
}

// check looks at the next event.
func (r *reading) check(e core.Event) {
	switch e.Type {
	case core.EventStepRestarted:
		delete(r.steps, e.Step)
	case core.EventStepStart:
		r.whole = r.whole || e.Step == 1
	case core.EventTextDelta:
		r.checkText(e)
	case core.EventRunFinish:
		if e.Status == string(core.RunDone) {
			r.finish(e)
		}
	}
}

func (r *reading) checkText(e core.Event) {
	at, err := position.Parse(e.Position)
	if err != nil {
		r.th.fail("words of run %s have the position %q", e.RunID, e.Position)
		return
	}
	w := r.steps[at.Step]
	if w == nil {
		w = &words{attempt: at.Attempt}
		r.steps[at.Step] = w
	}
	if w.attempt != at.Attempt && w.text != "" {
		r.th.fail("run %s shows %q of attempt %d at step %d after words of attempt %d", e.RunID, e.Delta, at.Attempt, at.Step, w.attempt)
	}
	w.attempt = at.Attempt
	if w.text += e.Delta; at.End != len(w.text) {
		r.th.fail("run %s shows %q to byte %d, the client has %q", e.RunID, e.Delta, at.End, w.text)
	}
	for _, s := range r.th.said[e.RunID] {
		if short, cut := strings.CutSuffix(w.text, "..."); strings.HasPrefix(s.text, w.text) || cut && r.th.w.config.Storage.Tight && strings.HasPrefix(s.text, short) { // last words, in the last form of an end
			if _, ok := r.th.logged.turnOf(e.RunID, at.Step); !ok && r.follows {
				r.th.inputs.heardBefore(e.RunID)
			}
			return
		}
	}
	r.th.fail("run %s shows %q at step %d, which no model generated", e.RunID, w.text, at.Step)
}

// finish: a client that has received the run's end has every word that the log has, once.
// It has more than that only of the step in which the run was ended.
func (r *reading) finish(e core.Event) {
	if r.th.p.head.Deleted {
		return
	}
	last := 0
	for _, entry := range r.th.logged.entries {
		if entry.Run != e.RunID {
			continue
		}
		last = max(last, entry.Step) // also of one whose model has failed
		m := entry.Message
		if m == nil || m.Role != core.RoleAssistant {
			continue
		}
		got := r.steps[m.Step]
		if got == nil && r.whole {
			got = &words{}
		}
		short, cut := strings.CutSuffix(m.Text(), "...") // last words, in the last form of an end
		if got != nil && got.text != m.Text() && !(cut && r.th.w.config.Storage.Tight && strings.HasPrefix(got.text, short)) {
			r.th.fail("a client has %q of step %d of run %s, the log %q", got.text, m.Step, e.RunID, m.Text())
		}
	}
	for step, w := range r.steps {
		if step > last+1 && w.text != "" {
			r.th.fail("a client has %q of step %d of run %s, which has %d", w.text, step, e.RunID, last)
		}
	}
}

// turnOf is the committed turn of a step.
func (lo *logged) turnOf(run core.ID, step int) (thread.Entry, bool) {
	for i := len(lo.entries) - 1; i >= 0; i-- {
		if e := lo.entries[i]; e.Run == run && e.Message != nil && e.Message.Role == core.RoleAssistant && e.Message.Step == step {
			return e, true
		}
	}
	return thread.Entry{}, false
}

// readers are clients in other processes than the one that infers: they come when they
// like, and again until the run is done or waits.
func (pe *people) readers(th *threadState, in *input) {
	if pe.w.config.Processes.Local || pe.w.config.Processes.Batch {
		return
	}
	pe.w.at(pe.w.random.between(0, 20*time.Second), func() { pe.reader(th, in, 0) })
}

// maxReads is how often a reader comes back.
const maxReads = 6

func (pe *people) reader(th *threadState, in *input, tries int) {
	id := in.run
	if id.IsZero() && pe.w.config.People.Followed {
		id = in.told
	}
	if id.IsZero() || tries == maxReads {
		return
	}
	h, over := pe.w.local, false
	if !pe.w.config.Processes.Local {
		h = pe.w.sandbox(roleAPI)
	} else if h == nil || h.ending {
		pe.w.at(pe.w.random.between(time.Second, 5*time.Second), func() { pe.reader(th, in, tries+1) })
		return
	}
	pe.clients++
	h.invoke(inlineTimeout, func(ctx context.Context) {
		heard := th.asks.heardBy(&reading{th: th, steps: map[int]*words{}, follows: true})
		_ = h.engine.runtime.Follow(ctx, th.client(), id, runtime.ListenerFunc(func(e core.Event) error {
			over = over || e.Type == core.EventRunFinish
			heard(e)
			return nil
		})) // a refused client comes back as well
	}, func(bool) {
		pe.clients--
		if !over {
			pe.w.at(pe.w.random.between(100*time.Millisecond, 5*time.Second), func() { pe.reader(th, in, tries+1) })
		}
	})
}
