package sim

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// loses chooses the worlds in which lost responses are hidden, claims are heard of late,
// and people end runs through the process that works on them.
func (c *Config) loses(kind, turn int) {
	switch kind {
	case 12, 19, 22:
		c.Storage.Hidden = c.Storage.Ambiguous && !c.People.Calm
	case 0, 1, 9, 17, 21:
		c.Storage.Tardy = turn%4 == 3 && !c.Processes.Unswept
	case 4:
		c.People.Own = turn%3 != 1
	case 20:
		c.People.Own = turn%2 == 1
	}
	if c.People.Own {
		c.Processes.Local, c.People.Calm = true, false
	}
	if c.Storage.Hidden { // a replay does not know of input that kept a run from its end and was withdrawn unread
		c.Replayed = false
	}
}

// hiddenWithin is how long at most a response is missed until its process looks: in that
// time others write, and workers close a run and start the next one.
const hiddenWithin = 8 * time.Second

// lose keeps the response to a request that was carried out from its process, which
// learns later that it is lost.
func (w *World) lose(h *host, r request, tell func()) {
	heard := func() {
		if r.unheard != nil && !h.dead {
			r.unheard()
		}
		tell()
	}
	if after := w.hide(r); after > 0 {
		w.at(after, heard)
		return
	}
	heard()
}

// hide lets others write on top of a write whose response is lost, and returns how long
// after that the process hears that it is.
func (w *World) hide(r request) time.Duration {
	if r.site != SiteCommit || !w.config.Storage.Ambiguous {
		return 0
	}
	if !w.config.Storage.Hidden {
		if w.random.chance(0.3) {
			w.touchAll()
		}
		return 0
	}
	if w.random.chance(0.4) {
		w.touchAll()
	}
	if !r.holder && w.random.chance(0.5) { // a holder's own is hidden by the next holder alone, which it must not wait for
		return w.random.between(0, hiddenWithin)
	}
	return 0
}

// unheard notes that a process hears of a write that its response is lost, where another
// write hides by then that it was applied.
func (w *World) unheard(t *task, p *partition, a, b *thread.Head) {
	if p.head.CommitID == b.CommitID {
		return
	}
	if b.Claim.Fence != 0 && b.Claim.Fence != a.Claim.Fence && b.HolderCommitID != b.CommitID {
		w.did(HiddenClaim)
	}
	if t.deed != nil {
		w.did(t.deed.hidden)
	}
}

// meddle has people stop, withdraw and change open or queued runs, in a world where most
// of the responses to that are lost.
func (pe *people) meddle(th *threadState) {
	for range 5 {
		pe.w.at(pe.w.random.between(500*time.Millisecond, 90*time.Second), func() {
			edit := func() {
				if in := th.inputs.unread(); in != nil && in.firstInput == "" {
					pe.edit(th, in)
				}
			}
			switch soon := pe.w.random.between(100*time.Millisecond, 2*time.Second); pe.w.random.below(8) {
			case 0, 1:
				pe.stopThread(th)
			case 2, 7:
				pe.steer(th)
				pe.w.at(soon, func() { pe.retract(th) })
			case 3:
				pe.retract(th)
			case 4, 5:
				pe.steer(th)
				pe.w.at(soon, edit)
			default:
				edit()
			}
		})
	}
}

// unread draws input that no step has read; nil: none.
func (ins *inputs) unread() *input {
	var ids []core.ID
	for _, d := range ins.th.p.head.Unopened() {
		ids = append(ids, d.ID)
	}
	for _, e := range ins.th.p.head.Inbox {
		ids = append(ids, e.ID, e.ID) // rather one of these: there are fewer
	}
	if len(ids) == 0 {
		return nil
	}
	if in := ins.accepted[ids[ins.th.w.random.below(len(ids))]]; in != nil && in.mode != modeLetter {
		return in
	}
	return nil
}

// stopThread ends the open run of a thread, or its first one.
func (pe *people) stopThread(th *threadState) {
	pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		d := pe.begin(HiddenStop)
		run, err := h.engine.runtime.CancelThread(ctx, th.client(), th.p.key.Thread)
		th.checkDeed(d, err)
		if err == nil && len(d.runs) > 0 && d.runs[0] != run {
			th.fail("a client receives run %s as stopped, it was %s", run, d.runs[0])
		}
		if err == nil {
			pe.w.Stats.Clients.Cancels++
		}
		return err == nil || refused(err)
	})
}

// deed is the effect of one request of a person, as the heads show it: the response that
// its process receives is another matter.
type deed struct {
	hidden  Behaviour // that the response to its write was lost and hidden
	again   *goingOn  // the run that it is to continue; nil: none
	runs    []core.ID // that it has cancelled
	entries []core.ID // that it has taken out of an inbox
	edits   int
	target  *input // the only input that it withdraws; nil: it is of another kind
	fork    *fork  // that it makes; nil: none
	at      string // the message where it does
	made    bool   // it has
}

// begin makes the current task's writes a person's deed.
func (pe *people) begin(hidden Behaviour) *deed {
	d := &deed{hidden: hidden}
	pe.w.current().deed = d
	return d
}

// note takes a write in.
func (d *deed) note(a, b *thread.Head) {
	if d == nil {
		return
	}
	if d.again != nil {
		d.again.note(a, b)
		return
	}
	if d.fork != nil && !a.Exists() {
		d.made = true
		d.fork.begins(d.at, b)
	}
	same := a.Open() && b.Run.ID == a.Run.ID
	closes := same && a.Run.Status != thread.Closing && b.Run.Status == thread.Closing
	if closes {
		d.runs = append(d.runs, a.Run.ID)
	}
	for _, q := range a.Unopened() {
		if !slices.ContainsFunc(b.Unopened(), func(o thread.Dispatch) bool { return o.ID == q.ID }) && b.Run.ID != q.Run {
			d.runs = append(d.runs, q.Run)
		}
	}
	left, right := inboxes(a), inboxes(b)
	for id, revision := range left {
		now, ok := right[id]
		switch {
		case ok && now != revision:
			d.edits++
		case !ok && len(a.Unopened()) == len(b.Unopened()) && !closes:
			d.entries = append(d.entries, id)
		}
	}
}

// inboxes are the revisions of all that no step has read.
func inboxes(h *thread.Head) map[core.ID]uint32 {
	all := map[core.ID]uint32{}
	for _, d := range h.Pending {
		all[d.ID] = d.Revision
		for _, e := range d.Rest {
			all[e.ID] = e.Revision
		}
	}
	for _, e := range h.Inbox {
		all[e.ID] = e.Revision
	}
	return all
}

// checkDeed: one request ends one thing, and the process that has ended it does not get
// not found.
func (th *threadState) checkDeed(d *deed, err error) {
	if len(d.runs)+len(d.entries) > 1 || d.edits > 1 {
		th.fail("one request of a person has ended runs %v and entries %v, and made %d edits", d.runs, d.entries, d.edits)
	}
	th.inputs.checkTarget(d)
	if core.CodeOf(err) == core.CodeNotFound && len(d.runs)+len(d.entries) > 0 {
		th.fail("a client receives %v, although its request has ended runs %v and entries %v", err, d.runs, d.entries)
	}
}

// checkEdited: a process that has changed input that was read so does not get not found.
func (ins *inputs) checkEdited(in *input, text string, d *deed, err error) {
	if core.CodeOf(err) != core.CodeNotFound || d.edits == 0 {
		return
	}
	for _, e := range ins.th.logged.entries {
		if e.Message != nil && e.Message.ID == in.name && e.Message.Text() == text {
			ins.th.fail("a client receives %v for its edit of %s, which was read", err, in.name)
		}
	}
}

// checkKnown: where nothing but responses is lost, no claim runs out: a process that has
// taken one knows it, despite later writes.
func (th *threadState) checkKnown(a *thread.Head) {
	w := th.w
	if h := w.hosts[a.Claim.Worker]; h == nil || h.ending || h.dead { // it stops while a response is missing
		return
	}
	if w.config.Storage.Hidden && w.config.Faults == 0 && w.config.Poison == 0 && !w.config.Processes.Restarts && !w.config.Storage.Late {
		th.fail("the claim of %s under fence %d runs out, although only responses are lost", a.Claim.Worker, a.Claim.Fence)
	}
}
