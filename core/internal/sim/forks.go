package sim

import (
	"context"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core"
	runtime "github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// forks are the threads that people make of others in a world with Forks.
type forks struct {
	random random // its own, so that the worlds of a seed stay what they were
	all    []*fork
}

// fork is a thread that is a fork of another, or is to be.
type fork struct {
	th, of *threadState // itself, and the other
	wanted []string     // messages that were requested
	asked  int          // requests that have no response yet
	heads  []forkable   // of the other thread, since the first request

	at        string           // the message that it was made at
	made      *thread.Head     // as it was made; nil: it was not
	inherited map[core.ID]bool // runs that have said what it begins with
	told      bool             // a client knows of it
}

// forkable is what a head says of what a fork may have.
type forkable struct {
	seq       uint64
	summaries []uint64 // the one in force, and its predecessors
	deleted   bool
}

// Times of people who fork.
const (
	forksWithin = 280 * time.Second
	forksLater  = 20 * time.Second // they look again whether anything was said
	forksTries  = 6
	forksEach   = 4 // of a world
)

// copies chooses the worlds in which people fork threads: some, some more in which a thread
// is deleted, and all in which most responses to what people do are lost.
func (c *Config) copies(n, turn int) {
	some := c.Storage.Hidden || turn%replayEvery == 3 || c.People.Deletes && n%2 == 0
	c.People.Forks = some && !c.People.Calm && !c.Programs.Old && !c.Processes.Batch
}

// planForks has people come who fork: one of them when the first thread is being deleted,
// where it is.
func (pe *people) planForks() {
	r := &pe.w.forks.random
	for k := range forksEach {
		of, at := pe.w.threads[r.below(len(pe.w.threads))], r.between(10*time.Second, forksWithin)
		if k == 0 && pe.w.config.People.Deletes {
			of, at = pe.w.threads[0], max(0, pe.w.deleted()-r.between(0, 100*time.Millisecond))
		}
		pe.w.at(at, func() { pe.forker(of, k == forksEach-1, 0) })
	}
}

// forker is a client that forks a thread, or a fork of it if there is one. Some ask
// again, immediately or later, for the same or for another message under the same name.
func (pe *people) forker(of *threadState, again bool, tries int) {
	r := &pe.w.forks.random
	for _, f := range pe.w.forks.all {
		if again && f.made != nil && len(f.th.logged.entries) > 0 {
			of = f.th
		}
	}
	at, ok := pe.messageOf(of)
	if !ok {
		if tries < forksTries && pe.w.now < pe.w.stop {
			pe.w.at(forksLater, func() { pe.forker(of, again, tries+1) })
		}
		return
	}
	f := &fork{of: of, th: pe.w.addThread(of.p.key.Tenant, of.user), inherited: map[core.ID]bool{}}
	f.th.fork, of.logged.forked = f, append(of.logged.forked, f)
	f.note(&of.p.head)
	pe.w.forks.all = append(pe.w.forks.all, f)
	pe.askForFork(f, at)
	if r.chance(0.3) {
		pe.w.at(r.between(0, 30*time.Millisecond), func() { pe.askForFork(f, at) })
	}
	if r.chance(0.4) {
		pe.w.at(r.between(3*time.Second, time.Minute), func() { pe.askForFork(f, at) })
	}
	if r.chance(0.25) {
		within := 30 * time.Millisecond
		if r.chance(0.5) {
			within = time.Minute
		}
		pe.w.at(r.between(0, within), func() {
			if other, ok := pe.messageOf(of); ok {
				pe.askForFork(f, other)
			}
		})
	}
}

// messageOf draws the message that a client forks a thread at: most often a visible one,
// rather a new one; now and then a superseded one, or none at all.
func (pe *people) messageOf(th *threadState) (id string, ok bool) {
	r := &pe.w.forks.random
	var all []string
	for i := range th.logged.entries {
		if m := th.logged.entries[i].Message; m != nil {
			all = append(all, m.ID)
		}
	}
	if len(th.logged.visible) == 0 {
		return "", false
	}
	switch r.below(20) {
	case 0:
		return "nobody", true
	case 1, 2, 3:
		return all[r.below(len(all))], true
	case 4, 5, 6, 7, 8, 9, 10:
		return all[len(all)-1], true
	}
	return th.logged.entries[th.logged.visible[r.below(len(th.logged.visible))].seq-1].Message.ID, true
}

// askForFork insists on a fork until there is a response.
func (pe *people) askForFork(f *fork, at string) {
	f.wanted = append(f.wanted, at)
	f.asked++
	from, over := len(f.heads)-1, false
	pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		d := pe.begin(HiddenFork)
		d.fork, d.at = f, at
		made, err := h.engine.runtime.Fork(ctx, f.of.client(), f.of.p.key.Thread, at, f.th.p.key.Thread)
		if pe.w.config.Trace != nil {
			pe.w.config.Trace("%s: fork %s of %s at %s: %+v, %v", h.name, f.th.p.key.Thread, f.of.p.key.Thread, at, made, err)
		}
		if ctx.Err() != nil && err != nil || !f.answers(d, f.heads[from:], made, err) {
			return false
		}
		if !over {
			over = true
			f.asked--
		}
		return true
	})
}

// answers checks the response to a client that has asked for a fork. since are the heads
// of the other thread from its first request on. It reports whether that is a response.
func (f *fork) answers(d *deed, since []forkable, made mailbox.Forked, err error) bool {
	first, gone := since[0], f.of.p.head.Deleted || f.th.p.head.Deleted
	seq := f.of.logged.sequenceOf(d.at, first.seq)
	switch code := core.CodeOf(err); {
	case err == nil:
		f.checkTold(d, made)
	case d.made && !gone:
		if !errors.Is(err, store.ErrThrottled) && code != "" && code != core.CodeThrottled {
			f.th.fail("a client has made the fork at %s, and receives %v", d.at, err)
		}
		return false
	case code == core.CodeDeleted:
		if !gone {
			f.th.fail("a client receives %v for a fork, although neither thread is deleted", err)
		}
	case gone && code == core.CodeNotFound:
	case code == core.CodeNotFound:
		if seq > 0 {
			f.th.fail("the fork at %s is refused, although the message exists: %v", d.at, err)
		}
	case code == core.CodeSuperseded:
		if now := f.of.p.head.Seq; !f.of.logged.tookBack(f.of.logged.sequenceOf(d.at, now), now) {
			f.th.fail("the fork at %s is refused, although the message is not superseded: %v", d.at, err)
		}
	case code == core.CodeConflict:
		another := f.made != nil && f.at != d.at
		for _, other := range f.wanted {
			another = another || f.made == nil && other != d.at
		}
		if !another && (seq == 0 || f.of.forkEnd(seq, first.seq) > 0) {
			f.th.fail("the fork at %s is refused without a reason: %v", d.at, err)
		}
	case code == core.CodeInvalid, code == core.CodeTooLarge:
		f.th.fail("the fork at %s is refused: %v", d.at, err)
	default:
		return false
	}
	return true
}

// checkTold checks a client's response about the fork: the fork exists, and is the
// requested one.
func (f *fork) checkTold(d *deed, made mailbox.Forked) {
	w, key := f.th.w, f.th.p.key.Thread
	switch {
	case f.made == nil:
		f.th.fail("a client receives a fork that does not exist: %+v", made)
		return
	case f.at != d.at:
		f.th.fail("a client requests the fork at %s, and receives that at %s", d.at, f.at)
	case made.ThreadID != key:
		f.th.fail("a client receives the wrong fork %q", made.ThreadID)
	case !made.Duplicate && (!d.made || made.Messages != f.made.Seq):
		f.th.fail("a client receives a new fork, %+v: it has made it %v, with %d records", made, d.made, f.made.Seq)
	case made.Messages < f.made.Seq || made.Messages > f.th.p.head.Seq:
		f.th.fail("a client receives that the fork has %d records, it started with %d", made.Messages, f.made.Seq)
	case made.Duplicate && d.made && w.config.Faults == 0 && !w.config.Storage.Ambiguous && !w.config.Storage.Late:
		f.th.fail("a client has made a fork, and receives that another client has")
	}
	w.did(Forked)
	if made.Duplicate && !d.made {
		w.did(ForkedAgain)
	}
	if f.told {
		return
	}
	f.told = true
	w.at(w.forks.random.between(0, 5*time.Second), func() { w.auditor.readFork(f) })
}

// readFork reads what the fork shows.
func (au *auditor) readFork(f *fork) {
	au.w.people.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		var shown []core.Message
		before := f.th.p.head.Seq
		for after := uint64(0); ; {
			page, err := h.engine.runtime.Messages(ctx, f.th.client(), f.th.p.key.Thread, runtime.MessageQuery{After: after, Limit: 200})
			if err != nil {
				return refused(err) || f.th.p.head.Deleted
			}
			if shown = append(shown, page.Messages...); page.Next == 0 || len(page.Messages) == 0 {
				break
			}
			after = page.Next
		}
		if f.th.p.head.Seq == before && !f.th.p.head.Deleted && f.th.p.head.Run.Base == 0 {
			f.checkShown(shown)
		}
		return true
	})
}

// checkShown: a reader finds what the fork shows, and nothing else.
func (f *fork) checkShown(messages []core.Message) {
	visible := f.th.logged.visible
	if len(messages) < len(visible) {
		f.th.fail("a reader finds %d messages of the fork, it has %d", len(messages), len(visible))
		return
	}
	for i, v := range visible {
		if got := showing(v.seq, &messages[i]); got != v {
			f.th.fail("a reader finds %v as message %d of the fork, it is %v", got, i, v)
			return
		}
	}
}

// checkForks: when all is over, every client that has asked for a fork has a response.
func (au *auditor) checkForks() {
	for _, f := range au.w.forks.all {
		if f.asked > 0 {
			f.th.fail("%d requests for the fork of %s at %v have no response", f.asked, f.of.p.key.Thread, f.wanted)
		}
	}
}
