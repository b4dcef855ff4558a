package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/state"
)

// stream decides what one listener is shown of one run: which events of a record, a head
// or a running step are new to it, and what must precede them. It reads nothing. Inline
// steps emit to its audience; a follower passes it the records that it has read.
//
// It has no lock: an inline step has returned before a follower shows anything.
type stream struct {
	run      core.ID
	audience audience
	replayer *history.Replayer // turns records into events; nil until the run's record is known
	place    place             // in the log
	early    openRound         // of the round at place.next, which the log does not have yet
	unsaid   position.Position // of the last event that was shown before its turn's commit; zero: none
	state    shownState
	hurry    bool // a run waits until the stream has caught up: the stream does not wait for its reader
}

// place is how far a stream has shown the thread's log.
type place struct {
	first  uint64 // sequence of the run's first record; 0: not known, or no record exists
	next   uint64 // sequence of the next record to show; 0: the run's first
	inside bool   // the record before next is a turn that the reader has and the replayer has not
}

// openRound is the part of an open round that was shown.
type openRound struct {
	base    uint64          // sequence of its first result
	results int             // how many calls were done
	tickets map[uint64]bool // by thread.TicketKey
}

func newStream(e *env.Env, id core.ID, listener Listener) *stream {
	return &stream{run: id, audience: newAudience(e, listener)}
}

// begin emits run_start, unless the audience has received it.
func (s *stream) begin(record core.Run) {
	s.place.first = record.FirstSeq
	if s.replayer == nil {
		s.state.owed = !s.audience.started || s.state.again
		s.replayer = history.NewReplayer(record, s.emit)
	}
	if s.place.next == 0 {
		s.place.next = record.FirstSeq // 0 until the first step has committed
	}
}

// resume begins the stream after a turn whose calls were decided, with what the reader
// was shown of the turn's round.
func (s *stream) resume(record core.Run, seq uint64, turn thread.Entry, before shownBefore) {
	// Results that were shown before the decision are marked as shown: the head, and the log
	// after it, still have them.
	for _, call := range before.results {
		s.audience.first(resultItem(history.ResultID(s.run, turn.Step, call)))
	}
	s.begin(record)
	s.replayer.Pass(turn)
	s.place.next = seq + 1
	s.early = openRound{base: seq + 1, results: len(before.results), tickets: before.tickets}
}

// skipTo makes the stream continue after what a head covers: its committer has shown it.
// After an open turn the results come next, which take their positions from the turn; the
// replayer does not know it then.
func (s *stream) skipTo(head thread.Head) {
	s.place.next = head.Seq + 1
	s.place.inside = head.Run.ID == s.run && head.Run.Cursor == thread.CursorTools
}

// passTurn gives the replayer the turn whose results come next.
func (s *stream) passTurn(turn thread.Entry) {
	s.replayer.Pass(turn)
	s.place.inside = false
}

// ready waits until the reader has taken the events that it was sent. Emit never waits, so that
// a long run would otherwise be held in memory for a slow reader. While a run waits for the
// stream it does not wait: a run never waits for a reader.
func (s *stream) ready(ctx context.Context) error {
	if s.hurry {
		return nil
	}
	return s.audience.ready(ctx)
}

// showRecord emits the next record.
func (s *stream) showRecord(entry threadlog.Entry) error {
	if err := s.state.apply(entry); err != nil {
		return err
	}
	if err := s.replayer.Add(entry.Entry); err != nil {
		return err
	}
	s.place.next++
	// The turn that was shown before its commit, or another attempt at it.
	if m := entry.Message; entry.Step >= s.unsaid.Step && (entry.Failed != nil || m != nil && m.Role == core.RoleAssistant) {
		s.unsaid = position.Position{}
	}
	return nil
}

// restart declares void the events that were shown of a step that failed.
func (s *stream) restart() {
	if s.audience.partial {
		s.unsaid = position.Position{} // it is void, too
	}
	if s.state.again = s.audience.restart(s.run); s.state.again {
		s.state.owed = true // also if the stream has started before
	}
	s.audience.stored() // nothing remains to be void
}

// emit is the history.Sink of what follows from records and chunks. It omits or cuts what
// the reader has of a turn that was shown before its commit.
func (s *stream) emit(e core.Event) error {
	had := s.unsaid
	if had.Run.IsZero() {
		return s.audience.emit(e)
	}
	at, err := position.Parse(e.Position)
	if err != nil { // it has none
		return s.audience.emit(e)
	}
	if at.Voids(had) {
		s.unsaid = position.Position{}
		_ = s.audience.emit(core.Event{Type: core.EventStepRestarted, RunID: e.RunID, Step: e.Step}) // the audience keeps the error
		return s.audience.emit(e)
	}
	e, ok := position.Behind(e, at, had)
	if !ok {
		return s.audience.gone
	}
	return s.audience.emit(e)
}

// showUnsaid emits events of a turn that is not committed.
func (s *stream) showUnsaid(events []core.Event) error {
	for _, e := range events {
		if err := s.emit(e); err != nil {
			return err
		}
		at, err := position.Parse(e.Position)
		// Stored events lag after the words that were heard: the place never moves back.
		if err == nil && at.Compare(s.unsaid) > 0 {
			s.unsaid = at
		}
	}
	return nil
}

// unseen returns the head with the parts of its open round that a source must read. ok is false
// unless the log was shown up to that round, and not past it.
//
// When another call is done, all results are read and emitted, and the audience drops those
// that it has: which were shown depends on whether an inline step or a head showed them. Only
// new and undecided tickets remain: a second decision on a decided one would be refused.
func (s *stream) unseen(head thread.Head) (_ thread.Head, ok bool) {
	if head.Run.ID != s.run || head.Run.Cursor != thread.CursorTools || s.place.next != head.Run.Base {
		return head, false
	}
	if s.early.base != s.place.next {
		s.early = openRound{base: s.place.next, tickets: map[uint64]bool{}}
	}
	if countDone(head.Run.Calls) == s.early.results {
		head.Run.Calls = nil
	}
	// The head is a copy, but its slices are not: they are replaced, never changed.
	held := head.Tickets
	head.Tickets = nil
	for _, t := range held {
		if t.Decision == 0 && !s.early.tickets[t.ID] {
			head.Tickets = append(head.Tickets, t)
		}
	}
	return head, true
}

// showOpen emits a result or ticket of the open round of a head that unseen has returned.
func (s *stream) showOpen(head thread.Head, i openItem) error {
	if i.ticket != nil {
		return s.replayer.Suspended(*i.ticket)
	}
	call := i.result.call
	behind := countDone(head.Run.Calls[:call]) < call
	return s.replayer.Early(call, i.result.entry, behind)
}

// shownOpen notes that all of the open round of such a head was shown.
func (s *stream) shownOpen(head thread.Head) {
	if head.Run.Calls != nil {
		s.early.results = countDone(head.Run.Calls)
	}
	for _, t := range head.Tickets {
		s.early.tickets[t.ID] = true
	}
}

// countDone counts the calls of a round that have a result which counts. A done call
// stays done.
func countDone(calls []thread.CallStatus) (n int) {
	for _, status := range calls {
		if status == thread.CallDone {
			n++
		}
	}
	return n
}

// needsState reports whether the state must be shown before the next event: the reader
// was shown none, or a step or run that changed it has ended.
func (s *stream) needsState() bool {
	return (s.state.owed || s.replayer.Changed()) && s.audience.wants(core.EventStateSnapshot)
}

// knowsState reports whether the state before the next record is known.
func (s *stream) knowsState() bool { return s.state.fold != nil && s.state.next == s.place.next }

// setState makes the state before the next record known. of is the run that now is of; a
// run starts without the values of the run before it.
func (s *stream) setState(now state.Snapshot, of core.ID) {
	if of != s.run {
		now = now.BeginRun()
	}
	s.state.fold, s.state.next, s.state.revision = now.Fold(), s.place.next, now.Revision()
}

// showState emits the state before the next record if it is known. It stays owed else, and
// may be known where the reader has caught up.
func (s *stream) showState() error {
	t := &s.state
	if t.fold == nil {
		return nil
	}
	// Where the stream starts, an empty state needs no event. Later it does: it was not
	// empty, or the reader must forget what a void step has changed.
	begins, known := t.owed && !t.again, !t.owed
	t.owed, t.again = false, false
	document, empty := history.Shown(t.fold.Snapshot(), known)
	if empty && begins {
		return nil
	}
	return s.replayer.State(document, t.revision)
}
