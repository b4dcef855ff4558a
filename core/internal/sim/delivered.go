package sim

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The rules of messages between threads: each that an outbox had is delivered, or is in the list
// of failed ones after its tries; none is delivered twice, and those to one thread come in their
// order. The end of a child in the background is told once, to the run that has started it.

// maxLetterTries is how often a message is tried.
const maxLetterTries = 5

// modeLetter is the mode of input that is a message or the end of a child: no client has said it.
const modeLetter = "letter"

// checkPost looks at what a write does to the messages of a thread, and at those that it brings.
func (th *threadState) checkPost(a, b *thread.Head) {
	if !th.w.config.Agents.Letters {
		return
	}
	had := owedLetters(a)
	for _, e := range owedLetters(b) {
		if i := slices.IndexFunc(had, func(o thread.OutboxEntry) bool { return o.ID == e.ID }); i < 0 {
			th.noteSent(e)
		} else {
			th.checkTried(had[i], e)
		}
	}
	for _, e := range had {
		if !slices.ContainsFunc(b.Outbox, func(o thread.OutboxEntry) bool { return o.ID == e.ID }) {
			th.checkLetterGone(e)
		}
	}
	for _, d := range b.Unopened() {
		th.noteDelivered(d.ID)
	}
	for _, e := range b.Inbox {
		th.noteDelivered(e.ID)
	}
	if b.Open() {
		th.noteDelivered(b.Run.Dispatch)
	}
}

// noteSent notes a message that an outbox has got, for the first time or again.
func (th *threadState) noteSent(e thread.OutboxEntry) {
	w := th.w
	text, to, run, ok := th.letterOf(e.ID)
	if !ok {
		return
	}
	w.family.post.sent++
	l := w.family.post.byID[e.ID]
	if l == nil {
		l = &letter{id: e.ID, from: th, to: to, run: run, text: text}
		if w.family.post.byText[text] != nil {
			th.fail("message %q has two ids, %s and %s", text, w.family.post.byText[text].id, e.ID)
		}
		w.family.post.byID[e.ID], w.family.post.byText[text] = l, l
	}
	l.place, l.failed, l.tries = w.family.post.sent, false, e.Tries
	w.people.deleteReceiver(l)
	if e.Tries != 0 {
		th.fail("the new message %s was tried %d times", e.ID, e.Tries)
	}
}

// letterOf reads the record of a message.
func (th *threadState) letterOf(id core.ID) (text, to string, run core.ID, ok bool) {
	r, ok := th.p.record(recordname.Outbox(id))
	if !ok {
		th.fail("the message %s has no record", id)
		return "", "", run, false
	}
	record, err := th.w.checks.DecodeOutbox(r.Payload)
	var said struct {
		Messages []core.Message `json:"messages"`
	}
	if err == nil {
		err = json.Unmarshal(record.Payload, &said)
	}
	if err != nil || len(record.To) != 1 || len(said.Messages) != 1 {
		th.fail("the message %s is unreadable: %v, %s", id, err, r.Payload)
		return "", "", run, false
	}
	return said.Messages[0].Text(), record.To[0].Thread, record.To[0].Run, true
}

// checkTried looks at a message that stays: its tries are counted one by one, and it waits longer
// after each.
func (th *threadState) checkTried(was, is thread.OutboxEntry) {
	if is.Tries != was.Tries && is.Tries != was.Tries+1 || is.Tries >= maxLetterTries {
		th.fail("the message %s was tried %d times, and then %d", is.ID, was.Tries, is.Tries)
	}
	if l := th.w.family.post.byID[is.ID]; l != nil {
		if l.tries = is.Tries; is.Tries > 0 {
			th.w.did(LetterTried)
		}
	}
}

// checkLetterGone looks at a message that leaves the outbox: it is delivered, or in the list.
func (th *threadState) checkLetterGone(e thread.OutboxEntry) {
	l := th.w.family.post.byID[e.ID]
	if l == nil || !l.input.IsZero() {
		return
	}
	r, ok := th.p.record(recordname.Failed(e.ID))
	if !ok {
		th.fail("the message %s to %s is neither delivered nor listed as failed", e.ID, l.to)
		return
	}
	note, err := th.w.checks.DecodeFailed(r.Payload)
	if err != nil || note.Message != e.ID || note.To.Thread != l.to || note.List != recordname.FailedList(th.p.head.Owner) {
		th.fail("the failed message %s is listed as %+v, %v", e.ID, note, err)
		return
	}
	l.failed = true
	th.w.did(LetterFailed)
	to := th.w.storage.byKey[core.ThreadKey{Tenant: th.p.key.Tenant, Thread: l.to}]
	switch note.Code {
	case "recipient_unavailable", "recipient_not_found":
		if !to.head.Deleted && !to.state.readsNoMore(l.run) {
			th.fail("the message %s to %s is given up with %s, and the thread is there: %+v", e.ID, l.to, note.Code, to.head)
		}
	default:
		if note.Tries != maxLetterTries || l.tries != maxLetterTries-1 {
			th.fail("the message %s to %s is given up with %s after %d tries, of which %d are counted", e.ID, l.to, note.Code, note.Tries, l.tries)
		}
		if th.w.innocent() && note.Code != "recipient_full" {
			th.fail("the message %s to %s is given up with %s, although nothing fails", e.ID, l.to, note.Code)
		}
	}
}

// childOver begins the text of the end of a child in the background.
const childOver = "A run that you started is over: "

// noteDelivered notes input that a head has for the first time, if it is a message or the end of a
// child: it is input of the thread from then on.
func (th *threadState) noteDelivered(id core.ID) {
	if th.inputs.accepted[id] != nil {
		return
	}
	r, ok := th.p.record(recordname.Input(id, 0))
	if !ok {
		return
	}
	q, err := th.w.checks.DecodeQueued(r.Payload)
	if err != nil || len(q.Messages) == 0 || q.Messages[0].ID != id.String()+".0" || q.Dispatch != id {
		return
	}
	text := q.Messages[0].Text()
	end, isEnd := strings.CutPrefix(text, childOver)
	switch l := th.w.family.post.byText[text]; {
	case th.inputs.startsAgain(text):
		return
	case isEnd:
		th.checkAsideTold(end)
	case l == nil:
		return
	default:
		th.checkDelivery(l, id)
	}
	in := &input{name: q.Messages[0].ID, agent: q.AgentID, text: text, mode: modeLetter, sent: th.w.now, id: id, run: q.Run}
	th.inputs.accepted[id], th.inputs.byText[in.name], th.w.people.byInput[in.name] = in, in, th
}

// startsAgain reports whether a run that began with a message has started again: its input has
// another id then.
func (ins *inputs) startsAgain(text string) bool {
	for _, in := range ins.accepted {
		if in.mode != modeLetter || in.text != text {
			continue
		}
		for _, g := range ins.th.runs.goingOn {
			if g.restarts && g.run == in.run {
				return true
			}
		}
	}
	return false
}

// checkDelivery looks at a message when its receiver has got it.
func (th *threadState) checkDelivery(l *letter, id core.ID) {
	w := th.w
	if !l.input.IsZero() && l.input != id {
		th.fail("the message %s is delivered as %s, and as %s", l.id, l.input, id)
	}
	if l.to != th.p.key.Thread {
		th.fail("the message %s is for thread %s", l.id, l.to)
	}
	for _, o := range w.family.post.byID {
		if o.from == l.from && o.to == l.to && o.place < l.place && o.input.IsZero() && !o.failed {
			th.fail("the message %s is delivered before %s, which was sent earlier", l.id, o.id)
		}
	}
	if l.run != (core.ID{}) && th.p.head.Run.ID != l.run {
		th.fail("the message %s is for run %s, and %s reads it", l.id, l.run, th.p.head.Run.ID)
	}
	l.input = id
	if l.run != (core.ID{}) {
		w.did(LetterToChild)
	}
	if w.did(LetterDelivered); th.p.head.Run.Dispatch == id || !slices.ContainsFunc(th.p.head.Inbox, func(e thread.InboxEntry) bool { return e.ID == id }) {
		w.did(LetterRuns)
	}
}

// checkAsideTold looks at the end of a child in the background, when its parent has got it.
func (th *threadState) checkAsideTold(text string) {
	var end core.ChildEnd
	if err := json.Unmarshal([]byte(text), &end); err != nil {
		th.fail("the end of a child is unreadable: %v, %s", err, text)
		return
	}
	c := th.w.family.byRun[end.RunID]
	if p := th.w.storage.byKey[core.ThreadKey{Tenant: th.p.key.Tenant, Thread: end.ThreadID}]; c == nil && p != nil {
		c = th.w.family.byThread[p.state] // its process died before the call knew of it
	}
	if c == nil || !c.aside || c.call.Thread != th.p.key {
		th.fail("the thread receives the end of run %s, which no call has started in the background", end.RunID)
		return
	}
	if c.told++; c.told > 1 {
		th.fail("the end of child %s is delivered %d times", end.RunID, c.told)
	}
	th.w.did(AsideTold)
	if th.p.head.Run.ID != c.call.Run {
		th.w.did(AsideLate)
		if !detaches(c.call.Key()) {
			th.fail("the end of child %s opens a run, and it is not detached", end.RunID)
		}
	}
	if final, over := c.th.runs.ended[end.RunID]; !c.th.p.head.Deleted && (!over || end.Termination == nil || end.Termination.Type != final.end) {
		th.fail("the reported end of child %s is %+v, it ended as %q", end.RunID, end.Termination, final.end)
	}
}

// keepsItsThread reports whether the end of a child belongs to its parent's thread although the
// parent is over: it is detached, and the thread has what the parent said.
func (c *child) keepsItsThread() bool {
	lo := &c.th.w.partition(c.call.Thread).state.logged
	if !detaches(c.call.Key()) || lo.th.p.head.Deleted {
		return false
	}
	return slices.ContainsFunc(lo.visible, func(m shown) bool { return lo.entries[m.seq-1].Run == c.call.Run })
}

// checkLetters: when all is over, each message is delivered or listed, and so is the end of each
// child in the background whose parent is open, or whose parent's thread wants it.
func (au *auditor) checkLetters() {
	for _, l := range au.w.family.post.byID {
		if l.input.IsZero() && !l.failed {
			au.w.fail(l.from.p, "the message %s to %s is lost: %+v", l.id, l.to, l.from.p.head)
		}
	}
	for _, c := range au.w.family.byCall {
		if !c.aside || c.in.run.IsZero() || c.told > 0 {
			continue
		}
		parent := au.w.partition(c.call.Thread)
		_, over := c.th.runs.ended[c.in.run]
		if open := parent.head.Run.ID == c.call.Run; over && (open || c.keepsItsThread()) {
			au.w.fail(parent, "the run is not told of the end of its child %s: %+v", c.in.run, parent.head)
		}
	}
}
