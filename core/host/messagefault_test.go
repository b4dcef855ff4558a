package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// withTells gives the agents a tool that sends two messages to the thread t2.
func withTells(c *host.Options) {
	c.Agents.Tools = append(c.Agents.Tools, tool.New(tool.Spec{Name: "tells"}, func(ctx context.Context, c tool.Call, _ struct{}) (tool.Result, error) {
		for _, text := range []string{"first", "second"} {
			if _, err := c.Send(ctx, tool.Message{Text: text, Thread: "t2", Name: text}); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.NewResult("told"), nil
	}))
}

// Whatever fails, and wherever a process dies: each message arrives once, and in order.
func TestMessagesArriveOnceWhateverFails(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			operations := 0
			for k, reached := 1, true; reached; k++ {
				synctest.Test(t, func(t *testing.T) {
					reached = messagesWithFault(t, fault, k)
					if reached {
						operations++
					}
				})
			}
			if operations < 20 {
				t.Errorf("%d operations had the fault", operations)
			}
		})
	}
}

func messagesWithFault(t *testing.T, fault fault, k int) (reached bool) {
	r := newRig(t)
	receiver := submission("t2", "hello")
	before := r.process("before", r.store, withTells)
	if _, err := before.Submit(t.Context(), receiver); err != nil {
		t.Fatal(err)
	}
	r.settle(before, receiver.Thread)

	way := newWay(r.store)
	way.fault, way.at = fault, k
	process := r.process("first", way, withTells)
	s := submission("t1", "call: tells")
	s.Key.Value = "once"
	begun := r.through(way, process, func() (mailbox.Receipt, error) { return process.Submit(t.Context(), s) })
	if way.isDead() || way.isAsleep() {
		process = r.process("second", r.store, withTells)
	}
	r.settle(process, s.Thread, receiver.Thread)
	if _, refused := begun(); refused != nil {
		if _, err := process.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // of the two threads, each may wake the other
		r.settle(process, s.Thread, receiver.Thread)
	}
	reader := r.process("reader", r.store)
	var told []string
	for _, line := range transcript(t, reader, "t2") {
		if text, is := strings.CutPrefix(line, "user: Message from the agent demo of thread t1:\n"); is {
			told = append(told, text)
		}
	}
	if diff := cmp.Diff([]string{"first", "second"}, told); diff != "" {
		t.Errorf("operation %d: told (-want +got):\n%s", k, diff)
	}
	if lines := transcript(t, reader, "t1"); !slices.Contains(lines, `tool: "told"`) || len(lines) != 4 {
		t.Errorf("operation %d: the sender's thread has %q", k, lines)
	}
	for _, key := range []core.ThreadKey{s.Thread, receiver.Thread} {
		if head := r.head(key); head.Busy(0) || len(head.Outbox) != 0 || head.DueAt != 0 {
			t.Errorf("operation %d: the head of %s is %+v", k, key.Thread, head)
		}
	}
	return way.reached()
}
