package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// Times of a client.
const (
	requestTimeout = 29 * time.Second
	inlineTimeout  = 115 * time.Second
	maxTries       = 40
)

// insist makes a request until it has a response. A crash or a lost response is a
// new try of the same. f reports whether it is over. Tries count only after the faults: until
// then processes of an old program may refuse a client for minutes.
func (pe *people) insist(limit time.Duration, f func(ctx context.Context, h *host) bool) {
	over, first, tries := false, true, 0
	var try func()
	try = func() {
		if over || tries > maxTries {
			return
		}
		if !first {
			pe.again++
		}
		if first = false; pe.w.now >= pe.w.stop {
			tries++
		}
		again := func() { pe.w.at(pe.w.random.between(4*time.Second, 9*time.Second), try) }
		h := pe.w.local
		if !pe.w.config.Processes.Local {
			h = pe.w.sandbox(roleAPI)
		} else if h == nil || h.ending {
			again()
			return
		}
		pe.clients++
		h.invoke(limit, func(ctx context.Context) {
			if f(ctx, h) && !pe.w.responseLost() {
				over = true
			}
		}, func(bool) {
			pe.clients--
			again()
		})
	}
	try()
	if pe.w.random.chance(0.05) { // an impatient client
		pe.w.at(pe.w.random.between(10*time.Millisecond, 2*time.Second), try)
	}
}

// responseLost draws whether the response to a client is lost.
func (w *World) responseLost() bool {
	return w.now < w.stop && w.config.Faults > 0 && w.random.chance(0.02)
}

// refused reports whether an error is a client's response, after which it does
// not try again.
func refused(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeBusy, core.CodeFull, core.CodeNotFound, core.CodeStale, core.CodeInvalid, core.CodeSuperseded, core.CodeDeleted, core.CodeTooLarge:
		return true
	}
	return false
}

// newInput makes what a client says.
func (ins *inputs) newInput(mode mailbox.Mode, agent string) *input {
	in := &input{name: ins.inputName(len(ins.byText)), agent: agent, mode: string(mode)}
	in.text = in.name + " says"
	ins.byText[in.name], ins.th.w.people.byInput[in.name] = in, ins.th
	return in
}

// inputName is the name of the thread's n-th input.
func (ins *inputs) inputName(n int) string {
	return fmt.Sprintf("m%d.%d-%d", ins.th.i, n, ins.th.w.config.Seed)
}

// submission is the request for it; its Key makes each attempt the same. An event has
// other words in each attempt, of which the first count.
func (ins *inputs) submission(in *input) mailbox.Submission {
	w := ins.th.w
	s := mailbox.Submission{
		Thread: ins.th.p.key, User: ins.th.client().User, Opening: mailbox.Opening{AgentID: in.agent, Supersede: in.supersede}, Mode: mailbox.Mode(in.mode), Key: mailbox.Key{Value: in.name},
		Messages: []core.Message{core.UserMessage(in.text).WithID(in.name)},
	}
	if in.retakes != "" {
		s.Opening.Supersede, s.Opening.Retake = 0, &mailbox.Retake{Message: in.retakes}
	}
	if in.priority > 0 {
		s.Opening.Priority = new(in.priority)
	}
	s.Opening.Delay = in.delay
	if bulk := w.scripted.bulk(in.name, 66, 2); bulk != "" && len(in.text) < 100 && mailbox.Mode(in.mode) != mailbox.ModeSteer {
		s.Opening.Request = json.RawMessage(strconv.Quote(bulk[:len(bulk)*3/4]))
	}
	if in.event {
		in.tries++
		s.Origin, s.Key.Alone = core.OriginInternal, true
		s.Opening.Request = json.RawMessage(strconv.Itoa(in.tries))
	}
	return s
}

// eventEvery is how many of the inputs that could be an event's are there for one.
const eventEvery = 4

// taken draws the input of a run that is to be replaced; 0: none.
func (th *threadState) taken() uint64 {
	var said []uint64
	for _, v := range th.logged.visible {
		if v.role == core.RoleUser && th.begins(v.seq) {
			said = append(said, v.seq)
		}
	}
	if len(said) == 0 {
		return 0
	}
	return said[th.w.random.below(len(said))]
}

// begins reports whether the input of a run begins at a sequence.
func (th *threadState) begins(seq uint64) bool {
	if seq == 1 {
		return true
	}
	before := th.logged.entries[seq-2]
	return before.Run != th.logged.entries[seq-1].Run || before.Superseded != nil
}

// newcomer is a client that starts a run, and maybe meddles with it.
func (pe *people) newcomer(th *threadState, k int) {
	mode := mailbox.ModeQueue
	if !pe.w.config.People.Calm && pe.w.random.chance(0.05) {
		mode = mailbox.ModeReject
	}
	in := th.inputs.newInput(mode, pe.anyAgent())
	in.text += pe.w.scripted.bulkInput(in)
	if mode == mailbox.ModeQueue && !pe.w.innocent() && pe.w.random.chance(0.3) {
		if in.supersede = th.taken(); in.supersede > 0 && pe.w.config.Seed%2 == 0 { // by its message, in every other world
			in.retakes = th.logged.entries[in.supersede-1].Message.ID
			pe.w.Stats.Clients.Retakes++
		}
	}
	streamed := 0.2
	if pe.w.config.People.Followed { // few streams last until another process hears of them
		streamed = 0.5
	}
	inline := !pe.w.config.Processes.Local && pe.w.random.chance(streamed)
	if in.inline = inline; inline {
		pe.w.Stats.Clients.Inline++
	}
	// Without a draw, so that the worlds of a seed stay what they were.
	in.event = mode == mailbox.ModeQueue && !inline && in.supersede == 0 && (k+th.i)%eventEvery == 1
	if in.event {
		pe.w.Stats.Clients.Events++
	}
	if mode == mailbox.ModeQueue && !inline && in.supersede == 0 && !pe.w.innocent() {
		in.place(th, k)
	}
	pe.submit(th, in, inline)
	if inline || in.agent == agentShort {
		pe.w.at(pe.w.random.between(0, 5*time.Second), func() { pe.readers(th, in) })
	}
	if pe.w.config.People.Followed {
		pe.follow(th, in)
		if k == 0 {
			pe.wrongMarks(th)
		}
	}
	if pe.w.config.People.Calm {
		return
	}
	if pe.w.config.Storage.Hidden {
		pe.meddle(th)
	}
	if pe.w.config.People.Own {
		pe.stops(th)
	}
	for range pe.w.random.below(2) {
		pe.w.at(pe.w.random.between(500*time.Millisecond, 90*time.Second), func() { pe.steer(th) })
	}
	if pe.w.random.chance(0.12) {
		pe.w.at(pe.w.random.between(500*time.Millisecond, 60*time.Second), func() { pe.cancel(th, in) })
	}
	if pe.w.random.chance(0.12) {
		pe.w.at(pe.w.random.between(500*time.Millisecond, 60*time.Second), func() { pe.interrupt(th) })
	}
	if pe.w.random.chance(0.1) { // both at once, on what is queued
		at := pe.w.random.between(500*time.Millisecond, 60*time.Second)
		pe.w.at(at, func() { pe.cancel(th, in) })
		pe.w.at(at+pe.w.random.between(0, 30*time.Millisecond), func() { pe.interrupt(th) })
	}
}

// place gives some of what is queued another place in its queue, and some a later one.
func (in *input) place(th *threadState, k int) {
	switch (int(th.w.config.Seed/Kinds) + th.i + 2*k) % 6 {
	case 1:
		in.priority = 1
	case 3:
		in.priority = 255
	case 4:
		in.delay = 20 * time.Second
		th.w.Stats.Clients.Delayed++
		th.w.did(DelayedInput)
	}
}

// usual is the place in the queue of most inputs.
func (in *input) usual() uint8 {
	if in.priority > 0 {
		return in.priority
	}
	return thread.DefaultPriority
}

// submit insists on an input.
func (pe *people) submit(th *threadState, in *input, inline bool) {
	in.sent, in.inline = pe.w.now, inline
	limit := requestTimeout
	if inline {
		limit = inlineTimeout
	}
	pe.insist(limit, func(ctx context.Context, h *host) bool {
		before := th.p.head
		r, accepted, err := h.engine.submit(ctx, th.inputs.submission(in), inline, in.tells(th.asks.heard()))
		th.inputs.checkPlaces(in, &before, err)
		if accepted {
			th.inputs.accept(in, r)
		}
		if err != nil && pe.w.config.Trace != nil {
			pe.w.config.Trace("%s: submit %s: %v", h.name, in.name, err)
		}
		if core.CodeOf(err) == core.CodeConflict || errors.Is(err, store.ErrConflict) {
			th.fail("a repeated submission of %s is refused: %v", in.name, err)
		}
		if core.CodeOf(err) == core.CodeDeleted && !th.p.head.Deleted {
			th.fail("the client of %s receives that the thread is deleted, and it is not", in.name)
		}
		if err == nil && inline && pe.w.config.Processes.Unswept && !th.inputs.isOver(in) && wakesAt(&th.p.head) == 0 {
			return false // it has lost sight of its run, which it wants to see to the end, or until that waits for a time
		}
		th.runs.checkLimited(in, err)
		return err == nil || refused(err) || forever(err)
	})
}

// isOver reports whether the run that reads an input is over.
func (ins *inputs) isOver(in *input) bool {
	_, ended := ins.th.runs.ended[in.run]
	return ended || in.over != "" && in.over != "read"
}

// accept notes that a client learned that its input is durable.
func (ins *inputs) accept(in *input, r mailbox.Receipt) {
	if ins.th.w.config.Trace != nil {
		ins.th.w.config.Trace("accepted %s as run %s, dispatch %s", in.name, r.RunID, r.DispatchID)
	}
	if !in.id.IsZero() && in.id != r.DispatchID {
		ins.th.fail("input %s was accepted as dispatch %s, and then as %s", in.name, in.id, r.DispatchID)
	}
	in.id, in.run = r.DispatchID, r.RunID
	ins.accepted[in.id] = in
	ins.look()
}

// steer gives the open run something to read; without one it is a run.
func (pe *people) steer(th *threadState) {
	pe.w.Stats.Clients.Steers++
	in := th.inputs.newInput(mailbox.ModeSteer, pe.anyAgent())
	in.text += pe.w.scripted.bulkInput(in)
	pe.submit(th, in, false)
	if pe.w.random.chance(0.4) {
		pe.w.at(pe.w.random.between(0, 8*time.Second), func() { pe.edit(th, in) })
	}
	if pe.w.random.chance(0.1) {
		pe.w.at(pe.w.random.between(0, time.Minute), func() { pe.cancel(th, in) })
	}
}

// edit changes input that no step has read yet.
func (pe *people) edit(th *threadState, in *input) {
	text := fmt.Sprintf("%s says otherwise (%d)", in.name, pe.w.id())
	pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		if in.id.IsZero() {
			return true
		}
		d := pe.begin(HiddenEdit)
		err := h.engine.runtime.EditInput(ctx, th.client(), th.p.key.Thread, in.id, []core.Message{core.UserMessage(text).WithID(in.name)})
		th.checkDeed(d, err)
		th.inputs.checkEdited(in, text, d, err)
		if err == nil {
			pe.w.Stats.Clients.Edits++
		}
		return err == nil || refused(err)
	})
}

// cancel ends the run of an input.
func (pe *people) cancel(th *threadState, in *input) {
	pe.cancelRun(th, func() core.ID { return in.run })
}

// cancelRun ends a run, if its id is known by then.
func (pe *people) cancelRun(th *threadState, run func() core.ID) {
	pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		id := run()
		if id.IsZero() {
			return true
		}
		d := pe.begin(HiddenStop)
		th.inputs.named[id] = true
		err := h.engine.runtime.CancelRun(ctx, th.client(), id)
		th.checkDeed(d, err)
		if err == nil {
			pe.w.Stats.Clients.Cancels++
		}
		return err == nil || refused(err)
	})
}

// interrupt supersedes everything of a thread, with something in its place or nothing.
func (pe *people) interrupt(th *threadState) {
	pe.w.Stats.Clients.Interrupts++
	th.inputs.interrupts++
	if pe.w.random.chance(0.3) {
		key := fmt.Sprintf("interrupt-%d", pe.w.id())
		pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
			_, err := h.engine.runtime.InterruptThread(ctx, th.client(), th.p.key.Thread, key)
			return err == nil || refused(err)
		})
		return
	}
	in := th.inputs.newInput(mailbox.ModeInterrupt, pe.anyAgent())
	pe.submit(th, in, false)
}
