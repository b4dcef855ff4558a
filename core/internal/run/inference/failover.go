package inference

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
)

// How a run chooses among the members of its agent's pool. Values that must be the
// same in every process follow from the log: the thread continues with the member of
// its last turn, as long as that member's prompt cache is warm, and then with its
// home; and it counts the switches. The reason to leave a member, its failures and
// its circuit, belong to this process. A step tries each member once, until it has to
// wait for them all; it does not retry those that failed permanently.

// reasonOpen is why a member is left whose circuit is open; other reasons are kinds of
// failures.
const reasonOpen model.ErrorKind = "circuit_open"

// choice is a step's choice of a member.
type choice struct {
	id       string // of the pool
	rules    agent.PoolSwitch
	order    []*registry.BoundModel // as they are tried
	stood    *registry.BoundModel   // that the step began with
	switches int                    // within the pool's sticky scope, those of the step among them
	left     []leftMember           // in this step
	paused   int                    // so many of them before its last pause for want of another
}

// leftMember is a member that the step has left, and why.
type leftMember struct {
	member *registry.BoundModel
	kind   model.ErrorKind // of its failure, or reasonOpen
	asked  time.Duration   // its provider asks for such a wait; 0: for none
	waits  bool            // another call may succeed after a pause, which is within the longest allowed
}

// choose finds the member that a step begins with; nil: the agent has one model.
func choose(step *Step, from *Start) *choice {
	pool := step.Agent.Pool()
	if pool == nil {
		return nil
	}
	c := &choice{id: pool.ID, rules: pool.Switch, order: pool.Order(from.Thread, step.Run)}
	c.stood = c.order[0]
	if p := from.Last; p != nil && p.Pool == pool.ID && (!pool.ByRun || p.Run == step.Run) {
		c.switches = p.Switches
		if m := pool.Member(p.Model); m != nil && step.Began-p.At < pool.Returns.Milliseconds() {
			c.stood = m
		}
	}
	if from.Fixed {
		c.play(from.Member, pool)
	}
	return c
}

// play follows a record, and leaves no member.
func (c *choice) play(recorded *thread.Member, pool *registry.Pool) {
	c.rules = agent.PoolSwitch{OnQuota: new(false), OnCircuitOpen: new(false)}
	if recorded == nil {
		return
	}
	c.switches = recorded.Switches
	if m := pool.Member(recorded.Model); m != nil {
		c.stood = m
	}
}

// memberOf is the record of a turn of a member; nil: no pool.
func (c *choice) memberOf(said *registry.BoundModel) *thread.Member {
	if c == nil {
		return nil
	}
	return &thread.Member{Pool: c.id, Model: said.ID, Switches: c.switches}
}

// failed is the record of a failed inference, which no member has answered.
func (c *choice) failed() *thread.Member {
	if c == nil {
		return nil
	}
	return c.memberOf(c.stood)
}

// has reports whether the step has left the member since it had to pause, or before
// permanently.
func (c *choice) has(m *registry.BoundModel) bool {
	for i := range c.left {
		if l := &c.left[i]; l.member == m && (i >= c.paused || !l.waits) {
			return true
		}
	}
	return false
}

// switchedOut reports whether the pool has switched as often as it may.
func (c *choice) switchedOut() bool {
	most := c.rules.MaxSwitches
	return most > 0 && c.switches >= most
}

// nextMember is the successor of the current member; nil: no member remains, or the
// pool has switched as often as it may.
func (t *Turn) nextMember() *registry.BoundModel {
	c := t.pool
	if c.switchedOut() {
		return nil
	}
	for _, m := range c.order {
		if m != t.model && !c.has(m) && t.step.Circuits.Wait(m, m.Name) == 0 {
			return m
		}
	}
	return nil
}

// memberToWaitFor is the member that the step returns to after a pause, if the
// current one has failed permanently: of those that it has left since the last pause,
// and that may succeed, the first whose provider asks for the shortest wait. nil: no
// such member, or the pool has switched as often as it may.
func (t *Turn) memberToWaitFor() (back *leftMember) {
	c := t.pool
	if c.switchedOut() {
		return nil
	}
	for i := c.paused; i < len(c.left); i++ {
		if l := &c.left[i]; l.waits && l.member != t.model && (back == nil || l.asked < back.asked) {
			back = l
		}
	}
	return back
}

// soonest is when the first circuit of the pool lets a call through, if all that the
// pool may still turn to refuse them; else that of the current member, for so long.
func (t *Turn) soonest(wait time.Duration) time.Duration {
	c := t.pool
	if c.switchedOut() {
		return wait
	}
	for _, m := range c.order {
		if closed := t.step.Circuits.Wait(m, m.Name); closed > 0 {
			wait = min(wait, closed)
		}
	}
	return wait
}

// switches reports whether the failure of a call is a reason to turn to another member.
func (t *Turn) switches(err error, kind model.ErrorKind, asked time.Duration) bool {
	if t.pool == nil {
		return false
	}
	open := Passing(err) && t.step.Circuits.Wait(t.member, t.asked.Model) > 0
	return t.pool.rules.Leaves(kind, asked) || open && t.pool.rules.LeavesOpen()
}

// turnTo makes another member the current one, which resumes at the present place of
// the turn. Later costs are that member's.
func (t *Turn) turnTo(ctx context.Context, next *registry.BoundModel, reason model.ErrorKind, cause error) {
	c := t.pool
	from, left := t.model, leftMember{member: t.model, kind: reason}
	_, left.asked = Classify(cause)
	left.waits = waits(cause, left.asked)
	c.left = append(c.left, left)
	c.switches++
	t.model = next
	t.step.Prompt.Use(next) // which has kept nothing of the request's beginning
	t.step.Claim.Warn(ctx, "run switches to another model of its pool", "pool", c.id, "from", from.ID, "to", next.ID, "reason", reason, "failed", t.failed, "switches", c.switches)
	t.step.Events.Emit(core.Event{Type: core.EventModelSwitch, From: from.ID, Model: next.ID, Reason: string(reason), Failed: int(t.failed)})
}

// gone is the failure of the last member, with the newest reasons of those that were left
// before it.
func (t *Turn) gone(cause error, kind model.ErrorKind) error {
	if t.pool == nil || len(t.pool.left) == 0 {
		return cause
	}
	last := map[string]string{t.model.ID: string(kind)}
	for _, l := range t.pool.left {
		if l.member != t.model {
			last[l.member.ID] = string(l.kind)
		}
	}
	var reasons []string
	for _, m := range t.pool.order {
		reason := last[m.ID]
		if reason == "" && t.step.Circuits.Wait(m, m.Name) > 0 {
			reason = string(reasonOpen)
		}
		if reason != "" {
			reasons = append(reasons, m.ID+": "+reason)
		}
	}
	return &GoneError{fmt.Sprintf("no model of pool %q is left (%s)", t.pool.id, strings.Join(reasons, ", ")), cause}
}
