package run

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// machine takes a step: it leads the draft, the model's turn and the tool round
// from the cursor to the commits, and to the run's end. It holds the other values
// of the step, which live as long as it does; a lower one knows no higher one.
//
// Only code that needs several of them is its method: code that reads and writes
// one of them is a method of that one, and receives values. So the draft alone
// shows the records of a commit, and the holder alone the writes of a step.
type machine struct {
	holder holder // one allocation has them all, and pointers between them stay valid with it
	base   base
	draft  draft
	prompt prompt
	unsaid *inference.Turn // the turn that a model has started, until it is committed
	tools  *toolRound      // the open tool round, once it is known
	begun  *toolRound      // the round of a turn whose commit has no known outcome; nil: none
	form   thread.Form     // of the run's end, as far as the store has refused larger ones
	missed bool            // see Stepped.Missed

	runEnded *thread.EndRecord // what RunEnd has changed; nil: it has not run
}

// newMachine returns a machine that knows of the run what the claim says.
func (s *Stepper) newMachine(w Work, sink history.Sink) *machine {
	fence := w.Head.Claim.Fence
	m := &machine{holder: holder{
		s: s, env: s.env, records: s.records,
		Key: w.Key, id: w.Head.Run.ID, head: w.Head,
		found: w.Head.Run.Cursor, dueFor: w.Head.Claim.Queued, lateFor: time.Duration(w.Head.Late()) * time.Millisecond, given: w.Input, keep: w.Keep, whole: w.Whole, proved: w.Proved,
		events: history.NewEmitter(w.Head.Run.ID, fence, sink),
	}}
	h := &m.holder
	m.draft.run = h.id
	m.forget()
	h.log = logger{s.log, &h.Key, &h.id, &h.events}
	h.shared.hold.fence.Store(fence)
	h.shared.told.from = w.Head.Version
	infers := w.Head.Run.Cursor != thread.CursorTools && w.Head.Run.Status != thread.Closing
	h.shared.chunks.Init(&s.live, w.Key, w.Head.Run.ID, infers, w.Head.Run.Child)
	if w.Followed > 0 {
		h.shared.chunks.Follow(w.Followed)
	}
	h.profiles = s.profilesOf(w.Key.Tenant)
	if w.Head.Run.Cursor == thread.CursorTools { // the turn's events were positioned under its own fence
		h.events.SetFence(w.Head.Run.TurnFence)
	}
	h.account = s.books.Run(accounting.Claim{Key: w.Key, Run: h.id, Holder: claim{h}})
	return m
}

// forget drops the draft, and with it the known state, and the prompt: the next
// part of the step starts from the loaded records. It is the only place where
// either of the two starts.
func (m *machine) forget() {
	m.draft = m.draft.next(m.holder.head.Seq)
	m.prompt = prompt{holder: &m.holder, base: &m.base, draft: &m.draft, model: m.base.model}
}

// begin makes the draft, and the prompt, that follow from what is committed.
func (m *machine) begin() {
	m.forget()
	m.draft.begin(m.base.conversation)
}

// reset forgets what the step has said and changed since its last commit. A
// thread that could not be read has no conversation: nothing is folded onto it or
// cached, and without its agent no hook is shown anything either.
func (m *machine) reset() {
	m.forget()
	if m.base.conversation != nil {
		m.draft.begin(m.base.conversation)
	}
	m.draft.step = max(1, int(m.holder.head.Run.Step))
	m.holder.events.Enter(m.draft.step)
}

// enter begins a step, of which what is committed may have the turn already.
func (m *machine) enter(number int) {
	m.holder.events.Enter(number)
	m.draft.enter(number, m.base.conversation)
}

// phase runs a phase's hooks and takes what they changed into the draft.
func (m *machine) phase(ctx context.Context, phase core.Phase, moment engine.Moment) error {
	result, err := m.base.hooks.phase(ctx, phase, m.draft.view(), moment)
	if err != nil {
		return err
	}
	m.draft.merge(result)
	return nil
}

// lastSaid is the time of the step's last word: of its turn, or of the record of a
// failure in its place, or of the latest result. It follows from stored values, so
// that every claim that closes the step shows StepEnd the same time.
func (m *machine) lastSaid() int64 {
	if m.tools == nil {
		last := m.draft.entries[len(m.draft.entries)-1]
		if last.Failed != nil {
			return last.Failed.At
		}
		return last.Message.CreatedAt
	}
	return m.tools.round.calls.lastSaid()
}
