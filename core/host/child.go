package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// maxCallID is the longest id of a call that a child run names, in bytes: providers choose
// them.
const maxCallID = 128

// children starts the child runs of tools. A child run is a submission like any other, for
// the tenant and the user of the run that starts it. Only its Parent sets it apart: the call
// that its end wakes.
type children struct{ submits *submitter }

// StartChild implements run.Children. The submission's key is derived from the call's, so
// that a call which runs again, in any process, finds the run that it has started. A
// background child has no parent call: its end wakes none.
func (c children) StartChild(ctx context.Context, call tool.Call, child tool.Child) (core.ID, error) {
	name := call.Key()
	if child.Name != "" {
		name += "/" + child.Name
	}
	above := call.Lineage()
	parent := mailbox.Parent{
		Thread: call.Thread.Thread, Run: call.Run, Call: uint8(call.Index), Detached: child.Detached,
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
	receipt, err := c.submits.submit(ctx, mailbox.Submission{
		Thread: key, User: call.User, Messages: child.Messages, Origin: core.OriginInternal,
		Key:     mailbox.Key{Value: "child " + name},
		Opening: mailbox.Opening{AgentID: child.Agent, Request: child.Request, Parent: &parent},
	})
	return receipt.RunID, err
}

// keptThread is the child thread that a thread keeps under a name. Neither of the two has a
// "/", so that no other pair has the same text.
func keptThread(parent, kept string) string {
	sum := sha256.Sum256([]byte(parent + "/" + kept))
	return "kept." + hex.EncodeToString(sum[:16])
}
