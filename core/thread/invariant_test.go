package thread_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core/thread"
)

// transition applies a command and checks everything that holds for every
// command on every head. The answer is Apply's.
func transition(h thread.Head, c thread.Command) (next thread.Head, effects thread.Effects, broken []string, err error) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	before := h.AppendBinary(make([]byte, 0, 512))
	next, effects, err = thread.Apply(h, c)
	after := next.AppendBinary(make([]byte, 0, 512))
	again, _, _ := thread.Apply(h, c)
	check(bytes.Equal(after, again.AppendBinary(make([]byte, 0, 512))), "the same command gives two heads")
	if !effects.Unchanged && err == nil {
		scribble(&again)
	}
	check(bytes.Equal(before, h.AppendBinary(make([]byte, 0, 512))) && bytes.Equal(after, next.AppendBinary(nil)), "two heads share memory")
	if err != nil {
		check(bytes.Equal(before, after), "refused (%v), yet the head changed", err)
		check(reflect.DeepEqual(effects, thread.Effects{}), "refused (%v), yet there are effects", err)
		check(!errors.Is(err, thread.ErrTooLarge), "refused for its size")
		return next, effects, broken, err
	}
	if effects.Unchanged {
		check(bytes.Equal(before, after), "unchanged, yet the head changed")
		return next, effects, broken, nil
	}
	checkOrder(check, h, next, c, effects)
	checkParts(check, next)
	checkTickets(check, next)
	checkDue(check, next, c)
	check(len(after) == next.Size() && len(after) <= thread.MaxSize, "size %d, encoded %d", next.Size(), len(after))
	check(len(after) <= thread.Bound(&next), "size %d is over its bound %d", len(after), thread.Bound(&next))
	decoded, err := thread.Decode(after)
	check(err == nil, "decode: %v", err)
	if !reflect.DeepEqual(decoded, withoutEmpty(next)) {
		check(false, "the codec loses something:\n%s", cmp.Diff(next, decoded, cmpopts.EquateEmpty()))
	}
	return next, effects, broken, nil
}

// withoutEmpty makes empty tables nil, as a decoder leaves them.
func withoutEmpty(h thread.Head) thread.Head {
	if len(h.Run.Calls) == 0 {
		h.Run.Calls = nil
	}
	if len(h.Pending) == 0 {
		h.Pending = nil
	}
	if len(h.Tickets) == 0 {
		h.Tickets = nil
	}
	if len(h.Inbox) == 0 {
		h.Inbox = nil
	}
	if len(h.Later) == 0 {
		h.Later = nil
	}
	if len(h.Recent) == 0 {
		h.Recent = nil
	}
	return h
}

type checker func(ok bool, format string, args ...any)

// checkOrder is what holds between a head and the next.
func checkOrder(check checker, h, n thread.Head, c thread.Command, e thread.Effects) {
	check(n.Version == h.Version+1 && n.CommitID == c.CommitID, "version %d after %d", n.Version, h.Version)
	check(n.Epoch >= h.Epoch && n.Fence >= h.Fence && n.Seq >= h.Seq, "epoch, fence or sequence fell")
	check(n.Summary >= h.Summary || n.Deleted, "summary fell")
	if h.Exists() {
		check(n.Incarnation == h.Incarnation && n.Owner == h.Owner, "incarnation or owner changed")
	}
	check(!h.Deleted || n.Deleted, "the thread rose again")
	if e.Claimed {
		check(!h.Live(c.Now), "claimed while another claim was live")
		check(n.Fence == h.Fence+1 && n.Claim.Fence == n.Fence, "a claim under fence %d after %d", n.Claim.Fence, h.Fence)
		check(n.Claim.Attempts >= 1, "a claim that does not count")
		check(n.Claim.Attempts <= thread.MaxAttempts || n.Run.Status == thread.Closing, "attempt %d of a run that was not dead-lettered", n.Claim.Attempts)
	} else {
		check(n.Fence == h.Fence, "fence %d without a claim", n.Fence)
		check(n.Claim.Attempts <= h.Claim.Attempts, "an attempt was counted outside a claim")
		check(n.Run.Attempts <= max(h.Run.Attempts, h.Claim.Attempts), "an attempt was counted outside a claim")
	}
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
	switch a := c.Action.(type) {
	case thread.EnqueueAndClaim:
		check(!e.Claimed || n.Run.Dispatch == a.Dispatch && len(h.Pending) == 0, "an inline run went before another")
	case thread.Nack:
		check(a.AvailableAt <= c.Now || !claimable(n, c.Now) || n.Run.Reason == thread.ReasonDeadLetter, "no pause before the next try")
	}
	released := h.Claim.Fence != 0 && n.Claim.Fence == 0
	if released || touches(c.Action) {
		check(!claimable(n, c.Now) || e.Hint != nil && e.Hint.At == 0, "something is eligible, and there is no hint")
	}
}

// touches reports whether the command is one that makes work, and so hints.
func touches(a thread.Action) bool {
	switch a.(type) {
	case thread.Enqueue, thread.EnqueueAndClaim, thread.Input, thread.Decide, thread.Cancel, thread.Interrupt, thread.Reclaim:
		return true
	}
	return false
}

func claimable(h thread.Head, now int64) bool {
	_, e, err := thread.Apply(h, thread.Command{Now: now, Action: thread.Claim{Worker: "w", Lease: 1}})
	return err == nil && e.Claimed
}

// checkParts is what holds between the parts of a head.
func checkParts(check checker, h thread.Head) {
	r := h.Run
	count := func(set ...bool) (n int) {
		for _, s := range set {
			if s {
				n++
			}
		}
		return n
	}
	switch {
	case h.Open():
		check(count(h.Claim.Fence != 0, r.Ready, r.Status == thread.Waiting) == 1, "the open run is not exactly one of claimed, ready, waiting")
		check((r.Status == thread.Closing) == (r.Reason != thread.ReasonNone), "closing without a reason or the reverse")
		check(r.Ready || r.AvailableAt == 0 && r.Attempts == 0, "a continuation that is not ready")
		check((r.Cursor == thread.CursorTools) == (len(r.Calls) > 0), "cursor %s with %d calls", r.Cursor, len(r.Calls))
		check(r.Cursor != thread.CursorTools || r.Base == h.Seq+1, "results at %d behind sequence %d", r.Base, h.Seq)
	default:
		check(reflect.DeepEqual(r, thread.Run{}) && h.Claim == thread.Held{}, "no run, yet %+v under %+v", r, h.Claim)
		check(len(h.Tickets) == 0 && len(h.Inbox) == 0, "no run, yet tickets or an inbox")
	}
	if h.Claim.Fence != 0 {
		check(h.Claim.Fence <= h.Fence && h.Claim.Epoch <= h.Epoch && h.Claim.Dispatch == r.Dispatch, "claim %+v does not fit", h.Claim)
	}
	check(len(h.Pending) <= 8 && len(h.Tickets) <= 8 && len(h.Inbox) <= 8 && len(h.Later) <= 9 && len(h.Recent) <= 16 && len(r.Calls) <= 32, "a table is over its limit")
	check(h.Notify != nil || len(h.Later) == 0, "a notify waits behind none")
	check(r.Status != thread.Closing || len(h.Inbox) == 0 && len(h.Tickets) == 0, "a closing run has tickets or an inbox")
}

// checkTickets is that every suspended call has the one ticket by which it can
// be answered.
func checkTickets(check checker, h thread.Head) {
	open := map[uint8]int{}
	for _, t := range h.Tickets {
		s := h.Run.Calls[t.Call]
		decided := s == thread.CallResuming || s == thread.CallCancelling
		check(decided == (t.Decision != 0) && (decided || s == thread.CallSuspended), "ticket %+v of a call that is %s", t, s)
		open[t.Call]++
	}
	for i, s := range h.Run.Calls {
		check(open[uint8(i)] <= 1, "two tickets of call %d", i)
		check(s != thread.CallSuspended || open[uint8(i)] == 1 || h.Run.Status == thread.Closing, "call %d is suspended without a ticket", i)
	}
	if h.Run.Status == thread.Waiting {
		check(slices.Contains(h.Run.Calls, thread.CallSuspended), "the run waits for nobody")
		check(!slices.Contains(h.Run.Calls, thread.CallResuming) && !slices.Contains(h.Run.Calls, thread.CallCancelling), "the run waits though it was answered")
		check(!slices.ContainsFunc(h.Inbox, func(e thread.InboxEntry) bool { return e.Kind == thread.InboxPerson }), "the run waits though a person spoke")
	}
}

// checkDue is that the sweep finds a thread exactly if there is something to do,
// and not too late.
func checkDue(check checker, h thread.Head, c thread.Command) {
	var times []int64
	if h.Notify != nil || h.Deleted && !h.Erased {
		times = append(times, 0)
	}
	switch {
	case h.Claim.Fence != 0:
		times = append(times, h.Claim.Lease+1)
	case h.Run.Ready:
		times = append(times, h.Run.AvailableAt)
	case h.Open():
		for _, t := range h.Tickets {
			if t.Deadline != 0 {
				times = append(times, t.Deadline)
			}
		}
	default:
		for _, d := range h.Pending {
			times = append(times, d.AvailableAt)
		}
	}
	if len(times) == 0 || h.DueAt == 0 {
		check(len(times) == 0 && h.DueAt == 0, "due at %d, things to do: %v", h.DueAt, times)
		return
	}
	first := max(slices.Min(times), c.Now+c.Due.Grace)
	check(h.DueAt < first+max(c.Due.Round, 1), "due at %d, %d is too late", h.DueAt, first)
	check(h.DueAt >= first || c.Due.Round > 0, "due at %d, before %d", h.DueAt, first)
	check(h.DueAt > c.Now || c.Due.Grace == 0, "due at %d, which is past", h.DueAt)
}

// scribble writes over everything that a head refers to.
func scribble(h *thread.Head) {
	for i := range h.Run.Calls {
		h.Run.Calls[i] = 99
	}
	parents := []*thread.Parent{h.Run.Parent}
	for i := range h.Pending {
		parents = append(parents, h.Pending[i].Parent)
		h.Pending[i] = thread.Dispatch{}
	}
	for _, p := range parents {
		if p != nil {
			*p = thread.Parent{}
		}
	}
	clear(h.Tickets)
	clear(h.Inbox)
	clear(h.Later)
	clear(h.Recent)
	if h.Notify != nil {
		*h.Notify = thread.Notify{}
	}
}
