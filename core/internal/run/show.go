package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/show"
)

// A tool's reports go from the tool's goroutine through news to the step's, which
// alone emits. A tool never waits for that: show.Live bounds the reports of a call,
// so that news need not. Nothing is stored, and the events have no position: a
// reader that reconnects gets the call's result.
//
// The step's goroutine takes the reports when it waits for tools: in a parallel
// round in await, with the calls that end; in a sequential one, where it waits for
// one tool, in awaitTool.

// listen lets the tool of a call show its work. It is called before the tool starts.
func (s *parts) listen(alone bool) {
	s.show.call, s.show.index, s.show.alone = &s.attempt.call, s.call, alone
	s.show.out.Begin(s, s.step.s.env.Now)
}

// Show implements show.Audience.
func (s *parts) Show(r show.Report) (more bool) { return s.step.shared.news.show(shown{&s.show, r}) }

// show hands over a report, in the tool's goroutine. The check of over and the
// hand-over are one step under the lock, as setting it is, so that no report of a
// call comes after its end.
func (n *news) show(s shown) (more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.silent || s.from.over {
		return false
	}
	n.shown = append(n.shown, s)
	n.wake()
	return true
}

// mute takes no more reports of a tool that is abandoned.
func (n *news) mute(s *parts) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s.show.over = true
}

// returned notifies the waiting goroutine that a tool has returned. It shows
// nothing any more: work that it has started and left running does not count.
func (n *news) returned(a *attempt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a.parts.show.over, a.returned = true, true
	if a.done != nil {
		close(a.done)
		return
	}
	n.wake()
}

// heard returns the new reports, and, unless the tool has returned, a channel that
// is closed with the next news.
func (n *news) heard(a *attempt) (show []shown, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	show, n.shown = n.shown, nil
	if a.returned {
		return show, nil
	}
	return show, n.next()
}

// newlyShown returns the reports since its last call.
func (n *news) newlyShown() (show []shown) {
	n.mu.Lock()
	defer n.mu.Unlock()
	show, n.shown = n.shown, nil
	return show
}

// silence notes that no reader listens any more: tools learn it from the result of
// their next report.
func (n *news) silence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = true
}

// emitShown emits what tools have shown, in the step's goroutine.
func (h *holder) emitShown(all []shown) {
	for _, s := range all {
		h.events.EmitUnplaced(h.shownEvent(s))
	}
	if len(all) > 0 && !h.events.Listened() {
		h.shared.news.silence()
	}
}

// shownEvent is the event of a report. An activity has a separate message id, by
// which its changes find it: that of the call's result, and the kind.
func (h *holder) shownEvent(s shown) core.Event {
	e := core.Event{Type: s.report.Type, MessageID: history.ResultID(h.id, h.events.Step(), int(s.from.index)), CallID: s.from.call.ID}
	if s.report.Type == core.EventToolCallStreamDelta {
		e.Name, e.Delta = s.from.call.Name, s.report.Text
		return e
	}
	e.MessageID += ":" + s.report.Kind
	e.ActivityType, e.Content, e.Patch = s.report.Kind, s.report.Content, s.report.Patch
	e.Replace = e.Type == core.EventActivitySnapshot
	return e
}
