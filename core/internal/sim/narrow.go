package sim

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
)

// In some worlds the models take less than their agents expect: they refuse longer requests.
// A run that meets a refusal must continue with a shorter request, and must show the newest
// part of the thread without a gap. A process that has met one knows the window from then on,
// of this model alone; another process, such as one that is started later, does not. The
// worlds know what each process has been told, and compare it with the records of turns.

const (
	// narrowWindow is the window of the models of such a world, in tokens: a few runs.
	narrowWindow = 400
	// assumedWindow is what a process assumes of a model of which the catalog knows nothing,
	// and which refuses a request without a number.
	assumedWindow = 8_192
	// knownFor is how long a process knows a window at least: a minute less than an hour.
	knownFor = 59 * time.Minute
)

// refusing is what models say when they refuse a request as too long.
type refusing uint8

const (
	refusesNothing refusing = iota
	refusesWith             // their window
	refusesWithout          // no number, and nothing is assumed
	refusesUnknown          // no number, and the catalog does not know them
)

// narrows makes the models of some worlds refuse long requests. People interfere in none of
// them: a window may begin with their input, and so without a turn of the run.
func (c *Config) narrows(kind, turn int) {
	switch kind {
	case 0, 1, 7, 9, 11, 13:
		if turn%3 == 2 || c.Storage.Tight || c.Agents.Outage != 0 || c.Accounts.Limited {
			return
		}
		c.Agents.Refuses = []refusing{refusesWith, refusesWith, refusesUnknown, refusesWithout}[(turn/3+kind)%4]
		c.Agents.Pooled = c.Agents.Pooled && turn%2 == 0
		c.People.Calm, c.Threads, c.Runs = true, 2, 12
	}
}

// learns is the window of which a process knows after a refusal; 0: nothing.
func (c *Config) learns() int {
	switch c.Agents.Refuses {
	case refusesWith:
		return narrowWindow
	case refusesUnknown:
		return assumedWindow
	}
	return 0
}

// knownModels is the catalog of the world's agents, if they have one.
func (sc scripted) knownModels() *catalog.Catalog {
	if sc.w.config.Agents.Refuses == refusesUnknown {
		return new(catalog.Catalog)
	}
	return nil
}

// narrow reports whether models refuse long requests.
func (sc scripted) narrow() bool { return sc.w.config.Agents.Refuses != refusesNothing }

// reuses is how often an idle process takes the next work: nearly always in a narrow world,
// where few processes are to know much.
func (sc scripted) reuses() float64 {
	if sc.narrow() {
		return 0.98
	}
	return 0.8
}

// sizeOf is the size of a request as the models of a narrow world count it.
func sizeOf(r *model.Request) int {
	return window.Reckon(r, 0) + window.ReckonAll(r.Messages, 0)
}

// lesson is when a process was told the window of a model.
type lesson struct {
	at    time.Duration
	heard bool // the step that was told was there to hear it
}

// schooling is what a process may know before a call of a model: the windows that its
// record may have.
type schooling []int

// knows returns what a process may have been told of the models that an agent may call.
func (h *host) knows(id string) schooling {
	w := h.world
	names := []string{modelOf[id]}
	if w.config.Agents.Pooled {
		pool := poolNames[id]
		names = pool[:]
	}
	maybe, sure := false, false
	for _, name := range names {
		if l, told := h.lessons[name]; told {
			maybe, sure = true, sure || l.heard && w.now-l.at < knownFor
		}
	}
	switch {
	case sure:
		return schooling{w.config.learns()}
	case maybe:
		return schooling{0, w.config.learns()}
	}
	return schooling{0}
}

// school notes what the process knows when a call of a model begins, and returns it; nil:
// the world is not narrow.
func (th *threadState) school(h *host, s script, r *model.Request) schooling {
	in := th.inputs.byText[s.name]
	if !th.w.scripted.narrow() || in == nil {
		return nil
	}
	key, known := modelStep{s.run, r.Step}, h.knows(in.agent)
	if th.schooled == nil {
		th.schooled = map[modelStep][]int{}
	}
	th.schooled[key] = append(th.schooled[key], known...)
	return known
}

// measured returns how the model refuses a request of a process that knows so much; nil: it
// takes it. ctx is the call's.
func (th *threadState) measured(ctx context.Context, h *host, s script, r *model.Request, known schooling) *model.Error {
	size := sizeOf(r)
	if known == nil || size <= narrowWindow {
		return nil
	}
	if known[0] == narrowWindow {
		th.fail("%s sends %d tokens in step %d of run %s, although it knows that the window is %d", h.name, size, r.Step, s.run, narrowWindow)
	}
	th.narrowed = true
	th.w.did(RefusedLong)
	if th.w.config.learns() > 0 {
		l := lesson{th.w.now, ctx.Err() == nil}
		if before := h.lessons[r.Model]; before.heard && !l.heard {
			l = before
		}
		h.lessons[r.Model] = l
	}
	failure := &model.Error{Kind: model.KindOverflow, Message: "too long"}
	if th.w.config.Agents.Refuses == refusesWith {
		failure.Limit = narrowWindow
	}
	return failure
}

// checkSchooled looks at a committed turn: the window that it was chosen by is what the
// process knew.
func (lo *logged) checkSchooled(e *thread.Entry, seq uint64) {
	if !lo.th.w.scripted.narrow() || e.Window == nil || e.Totals == nil || lo.th.fork != nil { // last words have no window of their own
		return
	}
	may := lo.th.schooled[modelStep{e.Run, e.Step}]
	if len(may) > 0 && !slices.Contains(may, e.Window.Known) {
		lo.th.fail("the turn at %d was chosen by a window of %d tokens, its process knew %v", seq, e.Window.Known, may)
	}
	if e.Window.Known > 0 {
		lo.th.w.did(KnownWindow)
	}
}

// checkNarrow looks at the end of a run: no refusal has ended it.
func (ru *runs) checkNarrow(record *core.Run) {
	if ru.th.w.scripted.narrow() && record.Termination.Code == "context_overflow" {
		ru.th.fail("run %s has ended since its request is too long: %s", record.ID, record.Termination.Detail)
	}
}

// tail returns the part of the visible log that a cut request shows, and the request's
// messages from there on. The run's first message may precede it.
func (lo *logged) tail(h *host, messages []core.Message, visible []shown, s script) ([]core.Message, []shown) {
	if in := lo.th.inputs.byText[s.name]; in != nil && slices.Max(h.knows(in.agent)) > 0 {
		lo.th.narrowed = true // by a process that was told the window in another thread
	}
	if !lo.th.narrowed && lo.th.fork == nil {
		return messages, visible // nothing was refused: all is shown
	}
	for k := range visible {
		if shows(messages, visible[k:]) {
			return messages, visible[k:]
		}
	}
	for k := range visible {
		before := func(v shown) bool { return showing(v.seq, &messages[0]) == v }
		if shows(messages[1:], visible[k:]) && slices.ContainsFunc(visible[:k], before) {
			return messages[1:], visible[k:]
		}
	}
	if messages[0].ID == s.name && !slices.ContainsFunc(visible, func(v shown) bool { return v.text == s.name }) {
		return messages, nil // the run's first message, which is not committed yet
	}
	return messages, visible
}

// shows reports whether messages begin with a part of the log.
func shows(messages []core.Message, visible []shown) bool {
	if len(messages) < len(visible) {
		return false
	}
	for i, v := range visible {
		if showing(v.seq, &messages[i]) != v {
			return false
		}
	}
	return true
}
