package mailbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Retake names the input of a thread that a submission repeats or replaces. The run withdraws
// everything that the thread has from there on: its messages are superseded, and its state
// returns to the one before them.
//
// The input is looked up when the submission comes, and does not change after that: input that
// was accepted before the run is withdrawn with the rest, input that is accepted after it
// comes after it. If two submissions name the same input, the later one's run counts.
type Retake struct {
	// Message is the id of a message of the thread, of the newest if several have it. The id of
	// an input means that input. The id of a turn or a result means the input before it, which
	// can be repeated, but not replaced.
	Message string
	// Keyed makes a submission without a Key idempotent, for clients that have no key. It is a
	// duplicate of another with the same content in place of the same run's input, as long as
	// the run that this one opened is queued or runs. A run that waits, or is over, is
	// withdrawn itself.
	Keyed bool
}

// check validates a submission with a Retake. The input that it names is looked up later: this
// needs no store.
func (r *Retake) check(s Submission) error {
	if err := core.CheckName("message to retake", r.Message); err != nil {
		return err
	}
	switch {
	case s.Opening.Supersede != 0:
		return core.Errorf(core.CodeInvalid, "a submission withdraws from a message or from a sequence on, not both")
	case !s.Into.IsZero():
		return core.Errorf(core.CodeInvalid, "input for run %s takes nothing back", s.Into)
	case s.Mode == ModeSteer:
		return core.Errorf(core.CodeInvalid, "mode steer withdraws nothing, allowed are queue, interrupt, reject")
	case r.Keyed && s.Key.Value != "":
		return core.Errorf(core.CodeInvalid, "a submission is keyed by its Key or by the input that it withdraws, not both")
	}
	return nil
}

// named is the message in the form that a Key has of it. If the run is the key, the submission
// is the same whether the client named the run's input or its response.
func (r *Retake) named() string {
	if r == nil || r.Keyed {
		return ""
	}
	return r.Message
}

// ErrUnread refuses to withdraw from input that no run has started to read: there is nothing
// to withdraw. [Service.Edit] changes it.
var ErrUnread = core.Errorf(core.CodeConflict, "no step has read the input yet: edit it as queued input instead")

// errUnderWay refuses to withdraw from input that was sent to a run that had started, and
// from what replies to such input: that run's start would lose its end.
var errUnderWay = core.Errorf(core.CodeConflict, "it was said to a run that was under way, or answers what was: allowed is the input with which a run began")

// findOriginal finds the input that the submission names, once: what is found holds for
// every later head too.
// It is found before the key is known, since the key of a keyed Retake is that of the
// original's run. core.CodeNotFound, core.CodeConflict: as for [Opening.Retake].
func (u *submission) findOriginal(ctx context.Context, head thread.Head) error {
	if u.original != nil {
		return nil
	}
	message := u.in.Opening.Retake.Message
	o, ok, err := u.s.reads.unreadOriginal(ctx, u.in.Thread, head, message)
	if err == nil && !ok {
		o, err = u.s.reads.loggedOriginal(ctx, u.in.Thread, head, message)
	}
	if err != nil {
		return fmt.Errorf("thread %s: message %q: %w", u.in.Thread.Thread, core.Excerpt(message), err)
	}
	u.original = o
	return nil
}

// completeFromOriginal fills in what the submission leaves to the input that it repeats or
// replaces: messages, agent, request, frontend, and where the log is withdrawn.
// It may be called for a second attempt: what it fills in is the same each time. A
// superseded original is refused only here: an earlier attempt of this submission may be
// what superseded it, and then the submission is found by its key before.
func (u *submission) completeFromOriginal(ctx context.Context, head thread.Head) error {
	if u.in.Opening.Retake == nil {
		return nil
	}
	if err := u.findOriginal(ctx, head); err != nil {
		return err
	}
	o := u.original
	switch {
	case o.gone:
		return u.errGone()
	case u.given == nil:
		u.in.Messages = o.input
	case o.named < 0:
		return core.Errorf(core.CodeInvalid, "thread %s: message %q is not a person's: it can be repeated, but not replaced", u.in.Thread.Thread, core.Excerpt(u.in.Opening.Retake.Message))
	default: // the messages of the same input before the named one stay
		u.in.Messages = append(slices.Clone(o.input[:o.named]), u.given...)
	}
	opening := &u.in.Opening
	if opening.AgentID == "" {
		if o.agent == "" {
			return core.Errorf(core.CodeInvalid, "agent id is empty, and the one of run %s is not known any more", o.run)
		}
		opening.AgentID = o.agent
	}
	if opening.Request == nil {
		opening.Request = o.request
	}
	if opening.Frontend == nil {
		opening.Frontend = o.frontend
	}
	opening.Supersede = o.from
	return nil
}

// errGone is the refusal of a Retake whose original is superseded.
func (u *submission) errGone() error {
	return core.Errorf(core.CodeSuperseded, "thread %s: message %q was withdrawn before", u.in.Thread.Thread, core.Excerpt(u.in.Opening.Retake.Message))
}

// retakeKind begins the keys of submissions that withdraw a run. No other key begins so.
const retakeKind = "retake:"

// keyByRetake gives a submission whose Retake is its key the key of the run that it
// withdraws. A retry meets the run that the first attempt opened, and no longer the one
// that this withdrew: as long as that run is under way, its own key counts, if it was used with
// the same content.
func (u *submission) keyByRetake(ctx context.Context) error {
	if u.in.Opening.Retake == nil || !u.in.Opening.Retake.Keyed {
		return nil
	}
	s, at := u.s, u.in.Thread
	head, err := s.Head(ctx, at)
	if err == nil {
		err = checkAccess(head, u.in.User)
	}
	if err == nil {
		err = u.findOriginal(ctx, head)
	}
	if err != nil {
		return err
	}
	body, err := bodyHash(u.in)
	if err != nil {
		return err
	}
	o := u.original
	// The named message may be that of the first attempt's own run, which has withdrawn the
	// original that the first attempt named.
	if o.fresh && !o.retakes.IsZero() {
		key := retakeKind + o.retakes.String()
		p, _, err := s.reads.byKey(ctx, at, key)
		if err != nil {
			return err
		}
		if p.Run == o.run && p.Body == body {
			u.in.Key.Value = key
			return nil
		}
	}
	if u.in.Key.Value, err = s.reads.freeKey(ctx, at, head, retakeKind, o.run); err != nil || !o.gone {
		return err
	}
	p, _, err := s.reads.byKey(ctx, at, u.in.Key.Value)
	if err == nil && p.Body != body { // it does not repeat what withdrew the original
		err = u.errGone()
	}
	return err
}
