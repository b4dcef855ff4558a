package thread_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// transition applies a change and checks everything that holds for every change
// on every head. The rest is what Apply returns.
func transition(h thread.Head, t thread.Transition) (next thread.Head, result thread.Result, broken []string, err error) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	r := rooms.Get().(*room)
	defer rooms.Put(r)
	before := r.encode(0, &h)
	next, result, err = thread.Apply(h, t)
	after := r.encode(1, &next)
	again, _, _ := thread.Apply(h, t)
	check(bytes.Equal(after, r.encode(2, &again)), "the same change gives two heads")
	if !result.Unchanged && err == nil {
		scribble(&again)
	}
	check(bytes.Equal(before, r.encode(2, &h)) && bytes.Equal(after, r.encode(2, &next)), "two heads share memory")
	if err != nil {
		check(bytes.Equal(before, after), "refused (%v), yet the head changed", err)
		check(reflect.DeepEqual(result, thread.Result{}), "refused (%v), yet there is a result", err)
		check(!errors.Is(err, thread.ErrTooLarge), "refused for its size")
		places := thread.KindOf(t.Change).Places
		if interrupt, ok := t.Change.(thread.Interrupt); ok {
			places = interrupt.Enqueue != nil
		}
		check(!errors.Is(err, thread.ErrFull) || places, "%T is refused because the head is full", t.Change)
		return next, result, broken, err
	}
	if result.Unchanged {
		check(bytes.Equal(before, after), "unchanged, yet the head changed")
		return next, result, broken, nil
	}
	checkOrder(check, h, next, t, result)
	checkEnd(check, h, next, result)
	checkDelayed(check, h, next, t)
	checkChildren(check, h, next, t)
	checkLaidOut(check, t, h, next)
	checkList(check, t, h, next, result.Left)
	checkParts(check, next)
	checkTickets(check, next)
	checkDue(check, next, t)
	size, bound := next.Size(), thread.Bound(&next)
	check(len(after) == size && size <= thread.MaxSize, "size %d, encoded %d", size, len(after))
	check(size <= bound, "size %d is over its bound %d", size, bound)
	decoded, err := thread.Decode(after)
	check(err == nil, "decode: %v", err)
	if !isDecoded(reflect.ValueOf(&decoded).Elem(), reflect.ValueOf(&next).Elem()) {
		check(false, "the codec loses something:\n%s", cmp.Diff(next, decoded, cmpopts.EquateEmpty()))
	}
	return next, result, broken, nil
}

// room is where a transition's heads are encoded: they would be most of what the tests
// allocate.
type room [3][]byte

var rooms = sync.Pool{New: func() any { return new(room) }}

func (r *room) encode(i int, h *thread.Head) []byte {
	if r[i] == nil {
		r[i] = make([]byte, 0, thread.MaxSize)
	}
	r[i] = h.AppendBinary(r[i][:0])
	return r[i]
}

// isDecoded reports whether what was decoded is what was encoded, where a decoder leaves
// nil for what is empty. It is reflect.DeepEqual of a head, in less than half the time: an id is
// compared at once.
func isDecoded(decoded, encoded reflect.Value) bool {
	switch decoded.Kind() {
	case reflect.Struct:
		for i := range decoded.NumField() {
			if !isDecoded(decoded.Field(i), encoded.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if decoded.Len() != encoded.Len() || decoded.Len() == 0 && !decoded.IsNil() {
			return false
		}
		for i := range decoded.Len() {
			if !isDecoded(decoded.Index(i), encoded.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Array:
		a, isID := decoded.Addr().Interface().(*core.ID)
		return isID && *a == *encoded.Addr().Interface().(*core.ID)
	default:
		return decoded.Equal(encoded)
	}
}

type checker func(ok bool, format string, args ...any)

// checkOrder is what holds between a head and the next.
func checkOrder(check checker, h, n thread.Head, t thread.Transition, r thread.Result) {
	asks := n.Open() && slices.ContainsFunc(n.Tickets, func(k thread.Ticket) bool {
		return (k.Kind == thread.TicketPerson || k.Kind == thread.TicketClient) && k.Decision == 0
	})
	check(asks == (n.Run.WaitsSince != 0), "it waits for a decision since %d", n.Run.WaitsSince)
	if was := h.Run.WaitsSince; was != 0 && asks && h.Run.ID == n.Run.ID {
		check(n.Run.WaitsSince == was, "it waits since %d, and not since %d any more", n.Run.WaitsSince, was)
	}
	check(n.Version == h.Version+1 && n.CommitID == t.CommitID, "version %d after %d", n.Version, h.Version)
	check(n.Epoch >= h.Epoch && n.Fence >= h.Fence && n.Seq >= h.Seq, "epoch, fence or sequence fell")
	check(n.Closing >= h.Closing && n.Schema >= h.Schema, "closing or schema fell")
	check(n.Summary >= h.Summary || n.Deleted || cut(t.Change) != 0, "summary fell")
	check(n.Supersedes >= h.Supersedes || n.Deleted, "an older record supersedes")
	check(cut(t.Change) == 0 || n.Supersedes == h.Seq+1, "the record behind %d supersedes, the head names %d", h.Seq, n.Supersedes)
	check(n.Summary < cut(t.Change) || cut(t.Change) == 0, "the summary up to %d covers what is superseded from %d on", n.Summary, cut(t.Change))
	kind, holders := thread.KindOf(t.Change), n.HolderCommitID == t.CommitID
	check(holders == kind.Holder && (holders || n.HolderCommitID == h.HolderCommitID), "%T left the holder's commit id at %s", t.Change, n.HolderCommitID)
	reset := n.Run.Attempts+1 < h.Run.Attempts || n.Run.ModelFailed < h.Run.ModelFailed || n.Run.ModelLost < h.Run.ModelLost
	check(kind.Progress || !reset || n.Run.ID != h.Run.ID, "%T is no progress, and resets what counted against the run", t.Change)
	checkAnnounced(check, h, n, t)
	if h.Exists() {
		check(n.Incarnation == h.Incarnation && n.Owner == h.Owner, "incarnation or owner changed")
	}
	check(!h.Deleted || n.Deleted, "the thread rose again")
	checkClaim(check, h, n, t, r)
	if h.Open() && n.Open() && h.Run.ID != n.Run.ID {
		check(false, "a run was opened while another was open")
	}
	if h.Run.Cursor == thread.CursorTools && n.Run.Base == h.Run.Base && n.Run.ID == h.Run.ID {
		for i, s := range h.Run.Calls {
			check(s != thread.CallDone || n.Run.Calls[i] == thread.CallDone, "call %d lost its result", i)
		}
	}
	if h.Run.OpenCalls() && n.Seq > h.Seq {
		check(n.Seq >= h.Run.Base+uint64(len(h.Run.Calls))-1, "the log has a gap behind the turn at %d", h.Run.Base-1)
	}
	for _, old := range h.Tickets {
		for _, t := range n.Tickets {
			check(old.ID != t.ID || old.Call != t.Call || old.Decision == 0 || old.Decision == t.Decision, "a ticket took two decisions")
		}
	}
	if nack, ok := t.Change.(thread.Nack); ok {
		meanwhile := h.Run.Status == thread.Closing && !nack.Closing // ended without the holder's knowledge
		check(meanwhile || nack.AvailableAt <= t.Now || !claimable(n, t.Now) || n.Run.Reason == thread.ReasonDeadLetter, "no pause before the next try")
	}
	if released := h.Claim.Fence != 0 && n.Claim.Fence == 0; released || kind.Wakes {
		check(!claimable(n, t.Now) || r.Hint != nil && r.Hint.At == 0, "something is eligible, and there is no hint")
	}
}

// checkAnnounced is that a new announcement is left for a while to who works on the run, and
// is due at once behind a write of anybody else.
func checkAnnounced(check checker, h, n thread.Head, t thread.Transition) {
	grace := int64(0)
	if thread.KindOf(t.Change).Worker {
		grace = 2_000
	}
	for _, e := range n.Outbox {
		stood := slices.ContainsFunc(h.Outbox, func(o thread.OutboxEntry) bool { return o.ID == e.ID && o.Kind == e.Kind })
		check(stood || !e.Announces() || e.Next == t.Now+grace, "an announcement of %T is due at %d, now is %d", t.Change, e.Next, t.Now)
	}
}

// cut is the first sequence that the change supersedes, 0 for none.
func cut(c thread.Change) uint64 {
	switch c := c.(type) {
	case thread.CommitTurn:
		return c.Cut
	case thread.CommitStep:
		return c.Cut
	case thread.CommitClose:
		return c.Cut
	}
	return 0
}

// sumOf is the checksum that a change brings for the log's tail.
func sumOf(c thread.Change) uint32 {
	switch c := c.(type) {
	case thread.CommitTurn:
		return c.Sum
	case thread.CommitStep:
		return c.Sum
	case thread.CommitClose:
		return c.Sum
	case thread.Fork:
		return c.Sum
	}
	return 0
}

// checkClaim is when a claim is taken, and what counts as an attempt.
func checkClaim(check checker, h, n thread.Head, t thread.Transition, r thread.Result) {
	_, refence := t.Change.(thread.Refence)
	switch {
	case r.Claimed:
		check(!h.Live(t.Now), "claimed while another claim was live")
		check(n.Fence == h.Fence+1 && n.Claim.Fence == n.Fence, "a claim under fence %d after %d", n.Claim.Fence, h.Fence)
		check(n.Run.Attempts >= 1, "a claim that does not count")
		check(n.TakenBy(t.CommitID), "a claim that does not know what took it")
		check(n.Run.Attempts <= thread.MaxAttempts || n.Run.Status == thread.Closing, "attempt %d of a run that was not dead-lettered", n.Run.Attempts)
		check(n.Schema <= max(t.Schemas.Reads, 1), "a program that reads %d claimed a head of schema %d", t.Schemas.Reads, n.Schema)
		take, asks := t.Change.(thread.TakeClaim)
		check(!asks || take.Alone || n.Run.Attempts <= thread.SuspectAt, "a suspect was claimed beside others")
		if inline, ok := t.Change.(thread.EnqueueAndClaim); ok {
			check(n.Run.Dispatch == inline.Enqueue.Dispatch && !h.Busy(t.Now), "an inline run went before another")
		}
	case refence:
		check(n.Fence == h.Fence+1 && n.Claim.Fence == n.Fence && n.Run.Attempts == h.Run.Attempts, "refenced to %d after %d", n.Fence, h.Fence)
	default:
		check(n.Fence == h.Fence, "fence %d without a claim", n.Fence)
		check(n.Run.Attempts <= h.Run.Attempts, "an attempt was counted outside a claim")
	}
	check(n.Claim.Fence == 0 || h.Claim.Fence == 0 || r.Claimed || n.Claim.CommitID == h.Claim.CommitID, "%T changes what took the claim", t.Change)
	if n.Open() && n.Run.ID == h.Run.ID {
		check(n.Run.Lost >= h.Run.Lost, "a lost claim was forgotten")
	}
}

// checkEnd is that a run ends through closing, takes nothing from then on, and
// leaves what was steered to it, or says what became of it.
func checkEnd(check checker, h, n thread.Head, r thread.Result) {
	same := h.Open() && n.Open() && h.Run.ID == n.Run.ID
	closing := same && n.Run.Status == thread.Closing
	if closing && h.Run.Status != thread.Closing {
		check(n.Closing == n.Version, "closing since version %d in version %d", n.Closing, n.Version)
	}
	if closing && h.Run.Status == thread.Closing {
		check(n.Run.Reason == h.Run.Reason && n.Closing == h.Closing, "the end changed from %s to %s", h.Run.Reason, n.Run.Reason)
		check(len(n.Inbox) <= len(h.Inbox), "input was steered to a run that closes")
	}
	check(!same || h.Run.Status != thread.Closing || closing, "a closing run went on")
	if h.Open() && !n.Open() && !n.Deleted {
		check(r.Outcome == thread.Done && n.Closing != 0, "the run is gone without an end")
		check(len(h.Run.Calls) == 0 || n.Seq >= h.Run.Base+uint64(len(h.Run.Calls))-1, "the run is gone, and calls of its turn have no result")
		check(len(n.Extensions) == 0, "an extension outlived its run")
	}
	if same {
		newer := func(h thread.Head) (all []thread.Extension) {
			for _, e := range h.Extensions {
				if e.Tag > 2 { // else the times, or since when the model fails
					all = append(all, e)
				}
			}
			return all
		}
		check(reflect.DeepEqual(newer(n), newer(h)), "a field of a newer program was lost")
		checkTimes(check, h, n)
		since := n.FailingSince()
		check(since != 0 || !slices.ContainsFunc(n.Extensions, func(e thread.Extension) bool { return e.Tag == 2 }), "the time of an outage is kept that does not hold any more")
		check(since == 0 || n.Run.Step == h.Run.Step && n.Run.Cursor != thread.CursorTools && !closing, "the model fails since %d in another step", since)
	}
	steered := func(d thread.Dispatch) bool { return d.Steered }
	i, was := slices.IndexFunc(n.Pending, steered), slices.ContainsFunc(h.Pending, steered)
	check((i >= 0 && !was) == !r.Opened.IsZero(), "opened %s, and %d is what was steered", r.Opened, i)
	if !r.Opened.IsZero() {
		d := n.Pending[i]
		check(d.ID == r.Opened && d.Run == r.Opened, "the run of a steered input is %s, its pointer %s", d.Run, r.Opened)
	}
}

// checkTimes is that the times of a run grow, and that none runs backwards.
func checkTimes(check checker, h, n thread.Head) {
	was, now := h.Times(), n.Times()
	idle := n.Run.Status == thread.Waiting && slices.ContainsFunc(n.Tickets, func(k thread.Ticket) bool { return k.Decision == 0 && k.Kind != thread.TicketChild })
	check(idle == (now.Since != 0), "it is idle since %d", now.Since)
	check(now.Waited >= was.Waited, "it waited %d ms, before %d", now.Waited, was.Waited)
	check(len(now.Losses) >= len(was.Losses) && len(now.Losses) <= min(thread.MaxLosses, int(n.Run.Lost)), "%d losses of %d, before %d", len(now.Losses), n.Run.Lost, len(was.Losses))
	for i, l := range now.Losses {
		check(l.Claimed <= l.Lost && (l.Began == 0 && i == len(now.Losses)-1 || l.Began >= l.Lost), "loss %d: %+v", i, l)
	}
}

// checkDelayed is that a delayed run goes only where it opens, is due then and comes
// before the queued ones of its priority, or where it is named or the thread is deleted.
func checkDelayed(check checker, h, n thread.Head, t thread.Transition) {
	for _, d := range h.Delayed {
		if slices.ContainsFunc(n.Delayed, func(o thread.Dispatch) bool { return o.ID == d.ID }) {
			continue
		}
		switch c := t.Change.(type) {
		case thread.Delete:
		case thread.TakeClaim:
			check(n.Run.ID == d.Run && d.AvailableAt <= t.Now, "delayed run %s is gone with a claim of %s", d.Run, n.Run.ID)
		case thread.Cancel:
			check(c.Run == d.Run, "delayed run %s is gone, and %s was cancelled", d.Run, c.Run)
		default:
			check(false, "delayed run %s is gone with %T", d.Run, c)
		}
	}
	opened := slices.IndexFunc(h.Pending, func(d thread.Dispatch) bool { return d.Run == n.Run.ID })
	if opened < 0 || h.Pending[opened].Steered {
		return
	}
	for _, d := range h.Delayed {
		_, takes := t.Change.(thread.TakeClaim)
		check(!takes || d.AvailableAt > t.Now || d.Priority > h.Pending[opened].Priority, "queued run %s opens before delayed run %s", n.Run.ID, d.Run)
	}
}

// suspensions are the tickets that a change brings.
func suspensions(c thread.Change) []thread.Ticket {
	switch c := c.(type) {
	case thread.CommitStep:
		return c.Tickets
	case thread.Suspend:
		return c.Tickets
	}
	return nil
}

// checkChildren is that a call that waits for a child run goes on with the end of that, or
// ends with its run: nothing that people do comes between.
func checkChildren(check checker, h, n thread.Head, t thread.Transition) {
	if !n.Open() || n.Run.ID != h.Run.ID || n.Run.Status == thread.Closing {
		return
	}
	for _, old := range h.Tickets {
		again := func(k thread.Ticket) bool { return k.Call == old.Call && k.ID != old.ID } // it suspends again, as no worker does
		if old.Kind != thread.TicketChild || old.Decision != 0 || slices.ContainsFunc(suspensions(t.Change), again) {
			continue
		}
		stands := slices.ContainsFunc(n.Tickets, func(k thread.Ticket) bool { return k.ID == old.ID && k.Call == old.Call && k.Decision == 0 })
		decide, decides := t.Change.(thread.Decide)
		switch t.Change.(type) {
		case thread.Input:
			check(stands, "a person spoke, and call %d waits for its child no more", old.Call)
		case thread.CommitStep, thread.Suspend, thread.Nack: // it may know the call's result
			check(stands || n.Run.Base != h.Run.Base || n.Run.Calls[old.Call] != thread.CallCancelling, "call %d was cancelled while its child runs", old.Call)
		default:
			check(stands || decides && !decide.Child.IsZero(), "%T took the ticket of call %d, which waits for its child", t.Change, old.Call)
		}
	}
}

// checkList is that a run's list of children changes by one at a time, for a reason, and that
// a run which is over owes a cancel to each child that it has left: no other write does.
func checkList(check checker, t thread.Transition, h, n thread.Head, left *thread.Left) {
	if h.Open() && n.Run.ID == h.Run.ID {
		want := h.Run.Children
		switch c := t.Change.(type) {
		case thread.AddChild:
			want = append(slices.Clone(want), c.Child)
		case thread.DropChild:
			want = slices.DeleteFunc(slices.Clone(want), func(child core.ID) bool { return child == c.Child })
		case thread.Decide:
			want = slices.DeleteFunc(slices.Clone(want), func(child core.ID) bool { return child == c.Child })
		case thread.Input:
			want = slices.DeleteFunc(slices.Clone(want), func(child core.ID) bool { return child == c.Child })
		}
		check(slices.Equal(n.Run.Children, want), "%T makes children %v of %v", t.Change, n.Run.Children, h.Run.Children)
		check(left == nil, "the run goes on and has left %v", left)
		return
	}
	check(len(n.Run.Children) == 0, "children %v without the run that started them", n.Run.Children)
	check((left != nil) == (len(h.Run.Children) > 0), "children %v of a run that is over, left %v", h.Run.Children, left)
	if left == nil {
		return
	}
	cancels := slices.DeleteFunc(slices.Clone(n.Outbox), func(e thread.OutboxEntry) bool { return e.Kind != thread.OutboxCancel })
	check(len(cancels) == 1 && cancels[0].ID == left.ID && slices.Equal(left.Children, h.Run.Children), "left %v, and the outbox has %v", left, cancels)
	was := slices.IndexFunc(h.Outbox, func(e thread.OutboxEntry) bool { return e.Kind == thread.OutboxCancel })
	check(was < 0 && left.Before.IsZero() || was >= 0 && left.Before == h.Outbox[was].ID && left.ID != left.Before, "left %v after %v", left, h.Outbox)
}

// checkLaidOut is that the time to wake at stays with its ticket. The sum is that of the commit
// that moved the log on.
func checkLaidOut(check checker, t thread.Transition, h, n thread.Head) {
	switch {
	case n.Deleted:
		check(n.TailSum == 0, "the sum %d of a tombstone", n.TailSum)
	case n.Seq != h.Seq:
		check(n.TailSum == sumOf(t.Change), "the sum %d, and the commit says %d", n.TailSum, sumOf(t.Change))
	default:
		check(n.TailSum == h.TailSum, "the sum %d became %d", h.TailSum, n.TailSum)
	}
	for _, old := range h.Tickets {
		for _, now := range n.Tickets {
			if old.ID != now.ID || old.Call != now.Call {
				continue
			}
			check(old.WakeAt == now.WakeAt && old.Keep == now.Keep, "ticket %+v became %+v", old, now)
			check(old.Decision == 0 || old.Decision == now.Decision, "ticket %+v was decided twice: %+v", old, now)
			woken := old.Decision == 0 && now.Decision == thread.WakeKey(h.Run.ID, old.ID)
			_, claims := t.Change.(thread.TakeClaim)
			check(!woken || claims && old.WakeAt != 0 && old.WakeAt <= t.Now, "%T wakes ticket %+v at %d", t.Change, old, t.Now)
		}
	}
}

func claimable(h thread.Head, now int64) bool {
	_, r, err := thread.Apply(h, thread.Transition{Now: now, Schemas: thread.Schemas{Reads: 9}, Change: thread.TakeClaim{Worker: "w", Lease: 1, Alone: true}})
	return err == nil && r.Claimed
}

// scribble writes over everything that a head refers to.
func scribble(h *thread.Head) {
	for i := range h.Run.Calls {
		h.Run.Calls[i] = 99
	}
	clear(h.Run.Children)
	for i := range h.Pending {
		clear(h.Pending[i].Rest)
		h.Pending[i] = thread.Dispatch{}
	}
	clear(h.Delayed)
	clear(h.Tickets)
	clear(h.Inbox)
	clear(h.Outbox)
	clear(h.Recent)
}
