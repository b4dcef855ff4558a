package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// The life of a child run, and where each part of it is:
//
//  1. A tool calls [tool.Call.Start]. Its step still holds the claim of the parent's thread.
//  2. The head of that thread lists the run (thread.AddChild). From here on whatever ends the
//     parent owes the child a cancel, also if the process dies before it enqueues the child.
//  3. The child is submitted to its own thread, under ids that follow from the call. A call that
//     runs again, in any process, submits the same child: it is a duplicate, and sends another
//     hint.
//  4. Its first step reads the parent's head, and ends the child if nothing waits for it any
//     more (core/internal/run/orphan.go). That closes the gap between 2 and 3: a process that
//     stood still there may enqueue a child whose parent is long over.
//  5. The parent's step ends with a ticket of kind child, and releases its claim. Nothing is
//     held or billed while it waits.
//  6. The end of the child is in the outbox of its thread, with the write that makes it final.
//     Its delivery decides the parent's ticket, which takes the child from the list
//     (core/mailbox/childended.go). A ticket that does not exist yet is waited for.
//  7. If the parent ends first, its thread owes the listed runs a cancel
//     (core/mailbox/childcancel.go). It ends them as a person's cancel would, and they owe their
//     own children another one. A detached child is left alone.
//
// No step of this waits for another thread. Each write is one transition of one head, so that
// two trees of runs cannot block each other: a call waits only for runs on child threads of its
// own thread, where nothing else of the tree is queued.

// maxCallID is the longest id of a call that a child run names, in bytes: providers choose
// them.
const maxCallID = 128

// children starts the child runs of tools. A child run is a submission like any other, for
// the tenant and the user of the run that starts it. Only its Parent sets it apart: the call
// that its end wakes.
//
// A child starts with the agent that the program of its parent has: another build may claim it
// first, with other instructions or another model for the agent of that id.
type children struct {
	submits *submitter
	agents  *pins.Pins
}

// StartChild implements run.Children. The child's id and the submission's key are derived from
// the call's key, so that a call which runs again, in any process, finds the run that it has
// started. A background child has no parent call: its end wakes none.
//
// The child is listed before it is enqueued. If a program that knows no list has started the
// call's child, that child has another id, and is listed in place of this one.
func (c children) StartChild(ctx context.Context, call tool.Call, child tool.Child, list func(context.Context, core.ID) error) (core.ID, error) {
	submission := childSubmission(call, child)
	key, id := submission.Thread, submission.Opening.Fixed.RunID
	if call.Resume != nil && call.Resume.Suspension == id.String() {
		return id, nil // it is over, and has left the list
	}
	if err := submission.Check(); err != nil {
		return core.ID{}, err
	}
	if err := c.submits.known(submission); err != nil {
		return core.ID{}, err
	}
	pinned, err := c.agents.Resolve(ctx, child.Agent, "")
	if err != nil {
		return core.ID{}, err
	}
	submission.Opening.Fixed.Resolution = pinned.Hash()
	if err := list(ctx, id); err != nil {
		return core.ID{}, err
	}
	receipt, err := c.submits.submit(ctx, submission)
	switch {
	case err == nil && receipt.RunID == id:
		if !receipt.Duplicate {
			return id, nil
		}
		if told, err := c.told(ctx, key, id); !told || err != nil {
			return id, err
		}
	case err == nil:
		if err := list(ctx, receipt.RunID); err != nil {
			return core.ID{}, err
		}
	default:
		switch core.CodeOf(err) {
		case core.CodeThrottled, core.CodeUnavailable, core.CodeInternal, core.CodeSchema: // it may have been enqueued
			return core.ID{}, err
		}
	}
	if errors.Is(err, thread.ErrDeleted) {
		// Without the cause, which would be understood as that of the parent's own thread.
		err = core.Errorf(core.CodeDeleted, "thread %s of the child run was deleted", key.Thread)
	}
	_, _, failed := c.submits.mailbox.Commit(ctx, call.Thread, thread.Head{}, thread.DropChild{Run: call.Run, Child: id}, nil)
	return receipt.RunID, errors.Join(err, failed)
}

// childSubmission is the submission of a child run, without the agent that it is pinned to. All of
// it follows from the call and the child.
func childSubmission(call tool.Call, child tool.Child) mailbox.Submission {
	name := call.Key()
	if child.Name != "" {
		name += "/" + child.Name
	}
	above := call.Lineage()
	parent := mailbox.Parent{
		Thread: call.Thread.Thread, Run: call.Run, Call: uint8(call.Index), Listed: true, Detached: child.Detached,
		Root: above.Root, Agents: above.Agents, MaxTokens: above.MaxTokens, Deadline: above.Deadline,
	}
	if len(call.ID) <= maxCallID {
		parent.ToolCall = call.ID
	}
	if child.Background {
		parent.Call = thread.NoCall
	}
	// A child without a thread gets one whose name follows from the call, so that a repeated
	// call finds it. "/" is not allowed in names.
	key := core.ThreadKey{Tenant: call.Thread.Tenant, Thread: child.Thread}
	switch {
	case child.Kept != "":
		key.Thread = keptThread(call.Thread.Thread, child.Kept)
	case key.Thread == "":
		key.Thread = "child." + strings.ReplaceAll(name, "/", ".")
	}
	return mailbox.Submission{
		Thread: key, User: call.User, Messages: child.Messages, Origin: core.OriginInternal,
		Key:     mailbox.Key{Value: "child " + name},
		Opening: mailbox.Opening{AgentID: child.Agent, Request: child.Request, Parent: &parent, Fixed: &mailbox.Fixed{RunID: childID(call.Run, name)}},
	}
}

// told reports whether a child run is over, and its end told: nothing would take it from the
// list any more.
func (c children) told(ctx context.Context, key core.ThreadKey, child core.ID) (bool, error) {
	head, err := c.submits.mailbox.Head(ctx, key)
	if err != nil {
		return false, err
	}
	_, live := head.RunStatus(child)
	return !live && !slices.ContainsFunc(head.Outbox, func(e thread.OutboxEntry) bool {
		return e.Kind == thread.OutboxChildEnded && e.ID == child
	}), nil
}

// childID is the id of a child run: that of the run that starts it gives it its time, which
// orders ids, and the name of the call the rest.
func childID(parent core.ID, name string) core.ID {
	sum := sha256.Sum256([]byte("child run " + name))
	id := wire.DerivedID(sum[:])
	copy(id[:6], parent[:])
	return id
}

// keptThread is the child thread that a thread keeps under a name. Neither of the two has a
// "/", so that no other pair has the same text.
func keptThread(parent, kept string) string {
	sum := sha256.Sum256([]byte(parent + "/" + kept))
	return "kept." + hex.EncodeToString(sum[:16])
}
