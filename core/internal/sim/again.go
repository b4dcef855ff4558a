package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// In a world with Again people do not accept a run that has ended with an error: they
// take it up at its last commit, or restart a dead letter. They ask for that more than
// once, at times concurrently. More runs fail there than elsewhere, some after turns, and
// few of them for ever.

// agains chooses the worlds in which people go on with what has failed.
func (c *Config) agains(kind, turn int) {
	switch kind {
	case 0, 1, 4, 7, 8, 9, 11, 15, 16, 17, 18:
		c.People.Again = turn%5 < 2
	case 12, 19, 21, 22:
		c.People.Again = turn%5 == 0 || c.Storage.Hidden
	}
	c.People.Again = c.People.Again && !c.Processes.Local && !c.Processes.Batch && !c.Processes.Unswept && (!c.People.Calm || kind == 16)
}

// mostAgain is how many runs of one thread people go on with.
const mostAgain = 8

// goingOn is what people want of a run that has ended with an error.
type goingOn struct {
	th       *threadState
	run      core.ID
	restarts bool          // it starts again; else it continues at its last commit
	sent     time.Duration // time of the last request
	made     []*input      // its inputs, as the heads show
}

// takenUp is a run that continues another.
type takenUp struct {
	of         core.ID
	firstInput string // the name of the input with which the first of them started
}

// wantMore has people go on with a run that has ended with an error.
func (ru *runs) wantMore(run core.ID, end core.Termination) {
	w := ru.th.w
	if !w.config.People.Again || ru.th.child || end.Type != core.TerminationError || len(ru.goingOn) >= mostAgain {
		return
	}
	g := &goingOn{th: ru.th, run: run, restarts: thread.ReasonDeadLetter.Is(&end) && ru.takenUp[run] == nil && w.random.chance(0.7)}
	ru.goingOn = append(ru.goingOn, g)
	at := w.random.between(20*time.Millisecond, 15*time.Second)
	w.people.plan(at, func() { w.people.goOn(g, 3) })
	if w.random.chance(0.4) { // another client, at the same time
		w.people.plan(at+w.random.between(0, 30*time.Millisecond), func() { w.people.goOn(g, 0) })
	}
	if w.config.Storage.Hidden { // most responses are lost, and some of them hidden
		w.people.plan(at+w.random.between(0, 5*time.Second), func() { w.people.goOn(g, 3) })
	}
	if w.random.chance(0.5) {
		w.people.plan(at+w.random.between(time.Second, 2*time.Minute), func() { w.people.goOn(g, 0) })
	}
}

// goOn insists on it. A refused client asks again some time later.
func (pe *people) goOn(g *goingOn, again int) {
	th := g.th
	pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		before, made := th.p.head, len(g.made)
		g.sent = pe.w.now
		pe.begin(HiddenAgain).again = g
		ask := h.engine.runtime.TakeUp
		if g.restarts {
			ask = h.engine.runtime.RetryRun
		}
		r, err := ask(ctx, th.client(), g.run)
		if pe.w.config.Trace != nil {
			pe.w.config.Trace("%s: continue run %s, from the start %t: %+v, %v", h.name, g.run, g.restarts, r, err)
		}
		over := err == nil || refused(err) || forever(err) || core.CodeOf(err) == core.CodeConflict
		if err == nil {
			g.checkReceipt(made, r)
		} else if over && !forever(err) || errors.Is(err, store.ErrConflict) {
			g.checkRefused(made, &before, err)
		}
		if err != nil && over && again > 0 && len(g.made) == 0 {
			again--
			pe.plan(pe.w.random.between(5*time.Second, 40*time.Second), func() { pe.goOn(g, again) })
		}
		return over
	})
}

// checkReceipt: each client that learns that a run continues learns the one continuation,
// for every requester. made is how many there were before.
func (g *goingOn) checkReceipt(made int, r mailbox.Receipt) {
	first := max(0, made-1)
	i := slices.IndexFunc(g.made[first:], func(in *input) bool { return in.run == r.RunID && in.id == r.DispatchID })
	switch {
	case i < 0:
		g.th.fail("run %s: a client receives run %s as its continuation, which no head ever had", g.run, r.RunID)
	case first+i < made && !r.Duplicate:
		g.th.fail("run %s: a client receives run %s as a new continuation, although it existed before", g.run, r.RunID)
	}
}

// checkRefused: an accepted request is not refused when it is repeated, nor is any
// request without a reason.
func (g *goingOn) checkRefused(made int, before *thread.Head, err error) {
	th := g.th
	h := &th.p.head
	code := core.CodeOf(err)
	if h.Deleted && code == core.CodeDeleted || code == core.CodeTooLarge && th.w.config.Storage.Tight {
		return
	}
	if errors.Is(err, store.ErrConflict) {
		th.fail("run %s cannot be continued because of an earlier attempt: %v", g.run, err)
	}
	if made > 0 && !g.unopened(g.made[made-1]) {
		th.fail("run %s continues as run %s, and a repeated request for it is refused: %v", g.run, g.made[made-1].run, err)
	}
	due := func(d thread.Dispatch) bool { return d.AvailableAt <= th.w.millis()+skew }
	if before.Version != h.Version || h.Open() || len(h.Pending) > 0 || slices.ContainsFunc(h.Delayed, due) {
		return
	}
	if g.restarts || th.runs.chained(g.run, th.logged.entries[h.Seq-1].Run) && !th.runs.overtaken(g.run) {
		th.fail("run %s ended with an error, nothing followed, and its continuation is refused: %v", g.run, err)
	}
}

// unopened reports whether a run ended before it began.
func (g *goingOn) unopened(in *input) bool {
	return strings.HasPrefix(g.th.inputs.fate(in.id, in), "ended ")
}

// overtaken reports whether another run already continues the run.
func (ru *runs) overtaken(run core.ID) bool {
	for _, up := range ru.takenUp {
		if up.of == run {
			return true
		}
	}
	return false
}

// chained reports whether a run is another, or continues that, or one that does.
func (ru *runs) chained(run, other core.ID) bool {
	for run != other {
		up := ru.takenUp[run]
		if up == nil {
			return false
		}
		run = up.of
	}
	return true
}

// note records the dispatch that a request's write has queued.
func (g *goingOn) note(a, b *thread.Head) {
	for _, d := range b.Unopened() {
		if !slices.ContainsFunc(a.Unopened(), func(o thread.Dispatch) bool { return o.ID == d.ID }) {
			g.noteRun(d)
		}
	}
}

// noteRun notes the resulting run, and looks at its input.
func (g *goingOn) noteRun(d thread.Dispatch) {
	th := g.th
	w := th.w
	if n := len(g.made); n > 0 && (g.restarts || !g.unopened(g.made[n-1])) {
		th.fail("run %s continues as run %s, and as run %s", g.run, g.made[n-1].run, d.Run)
	}
	r, ok := th.p.record(recordname.Input(d.ID, 0))
	said, err := w.checks.DecodeQueued(r.Payload)
	record, failed := w.checks.DecodeRun(th.runs.ended[g.run].payload)
	if !ok || err != nil || failed != nil {
		th.fail("run %s continues with input that is unreadable: %t, %v, %v", g.run, ok, err, failed)
		return
	}
	if said.AgentID != record.AgentID || said.Origin != record.Origin || !bytes.Equal(said.Request, record.Request) || said.Run != d.Run {
		th.fail("run %s continues with input %+v, it was %+v", g.run, said, record)
	}
	in := &input{agent: said.AgentID, sent: w.now, id: d.ID, run: d.Run}
	if g.restarts {
		in.mode, in.name, in.text = string(mailbox.ModeQueue), said.Messages[0].ID, said.Messages[0].Text()
		th.inputs.byText[in.name], w.people.byInput[in.name] = in, th
		g.checkSame(&said, &record)
	} else {
		in.mode, in.name, in.firstInput = "take up", "on with "+d.Run.String(), th.inputs.textOf(record.Dispatch)
		th.runs.takenUp[d.Run] = &takenUp{of: g.run, firstInput: in.firstInput}
		th.runs.mends[in.firstInput]++
		if said.TakesUp != g.run || len(said.Messages) > 0 || said.Resolution != record.Resolution {
			th.fail("run %s is taken up with %+v, it was %+v", g.run, said, record)
		}
	}
	g.made = append(g.made, in)
	th.inputs.accepted[d.ID] = in
	th.inputs.look()
}

// checkSame: a run that starts again has the input of the previous one, as far as the log
// has it.
func (g *goingOn) checkSame(said *thread.Queued, record *thread.RunRecord) {
	var before, now []string
	for _, e := range g.th.logged.entries {
		if e.Run == g.run && e.Input == record.Dispatch && e.Message != nil {
			before = append(before, e.Message.Text())
		}
	}
	for _, m := range said.Messages {
		now = append(now, m.Text())
	}
	if !slices.Equal(before, now) {
		g.th.fail("run %s starts again with %q, its input was %q", g.run, now, before)
	}
}

// checkTakenUp: a run that continues another starts at that run's end of the log.
func (ru *runs) checkTakenUp(a, b *thread.Head) {
	if up := ru.takenUp[b.Run.ID]; up != nil && b.Open() && b.Run.ID != a.Run.ID && !ru.chained(up.of, ru.th.logged.entries[a.Seq-1].Run) {
		ru.th.fail("run %s continues run %s, after run %s, which is later", b.Run.ID, up.of, ru.th.logged.entries[a.Seq-1].Run)
	}
}

// checkOnward looks at a turn: those of a run and of its continuations follow each other,
// none twice, and none is omitted.
func (ru *runs) checkOnward(e *thread.Entry) {
	up := ru.takenUp[e.Run]
	if e.Totals == nil {
		return
	}
	if up == nil {
		if g := ru.beganAnew(e.Run); g != nil {
			ru.th.w.did(Retried)
		}
		return
	}
	n := ru.th.logged.turnsOf(e.Run, ru.th.logged.entries[:len(ru.th.logged.entries)-1])
	if want := fmt.Sprintf("%s.%d:", up.firstInput, n); !strings.HasPrefix(e.Message.Text(), want) {
		ru.th.fail("run %s continues run %s with %.60q: want turn %s", e.Run, up.of, e.Message.Text(), want)
	}
	if n > 0 {
		ru.th.w.did(TookUp)
	}
}

// beganAnew is the request that a run restarts another for; nil: it does not.
func (ru *runs) beganAnew(run core.ID) *goingOn {
	for _, g := range ru.goingOn {
		if g.restarts && slices.ContainsFunc(g.made, func(in *input) bool { return in.run == run }) {
			return g
		}
	}
	return nil
}

// takesUp corrects the purpose of an inference, in a run that continues another: nothing
// that the model sees need be its own, nor that of the runs before it.
func (pe *people) takesUp(s *script) {
	if !pe.w.config.People.Again {
		return
	}
	th, held := pe.w.workedOn()
	if held == nil || th.runs.takenUp[held.run] == nil {
		return
	}
	s.run, s.name, s.step = held.run, th.runs.takenUp[held.run].firstInput, th.logged.turnsOf(held.run, th.logged.entries)
}

// turnsOf counts the turns of a run, and of the runs that it takes up, among entries.
func (lo *logged) turnsOf(run core.ID, entries []thread.Entry) (n int) {
	for i := range entries {
		e := &entries[i]
		if e.Totals != nil && e.Message != nil && e.Message.Role == core.RoleAssistant && lo.th.runs.chained(run, e.Run) {
			n++
		}
	}
	return n
}

// workedOn is the thread that the current task works on: the one that it has a claim of, or that
// the task has which started it. nil: there is none.
func (w *World) workedOn() (*threadState, *holding) {
	for t := w.current(); t != nil; t = t.from {
		for th, held := range t.claims { // one at a time
			return th, held
		}
	}
	return nil, nil
}

// own is the input that a dispatch brought; nil: it brought none, or it is unknown.
func (ins *inputs) own(dispatch core.ID) *input {
	if in := ins.accepted[dispatch]; in != nil && in.firstInput != "" {
		return nil
	}
	return ins.byText[ins.textOf(dispatch)]
}

// breaks reports whether a model fails in a step, and in no other of the run.
func (sc scripted) breaks(s script) bool {
	return sc.w.config.People.Again && (sc.w.config.Storage.Hidden || trait(s.name, 70, 3) == 0) && s.step == int(trait(s.name, 71, 2)) && !sc.w.mended(s.name)
}

// mended reports whether what makes a run fail has been seen to: people had to go on with it
// once, or twice.
func (w *World) mended(name string) bool {
	th := w.people.byInput[name]
	return th != nil && th.runs.mends[name] > int(trait(name, 73, 2))
}

// repeatAgain has all clients who continued a run repeat their request.
func (pe *people) repeatAgain(th *threadState) {
	for _, g := range th.runs.goingOn {
		if len(g.made) > 0 {
			pe.w.at(pe.w.random.between(0, 90*time.Second), func() { pe.goOn(g, 0) })
		}
	}
}

// begunBehind reports whether a run that continues another has started after the end of
// the log, which it need not have written to.
func (ins *inputs) begunBehind(seq uint64) bool {
	if seq != uint64(len(ins.th.logged.entries)) {
		return false
	}
	for run := range ins.th.runs.takenUp {
		if last := ins.th.logged.entries[seq-1].Run; ins.th.runs.began[run] && run != last && ins.th.runs.chained(run, last) {
			return true
		}
	}
	return false
}
