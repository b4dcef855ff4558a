package host_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// prompted is a model that notes the system prompts that it is sent.
type prompted struct {
	model.Model
	prompts *[]string
}

func (m prompted) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	*m.prompts = append(*m.prompts, r.System)
	return m.Model.Stream(ctx, r)
}

// A child run has the agent of the build that started it, also if another build, in which the
// agent of that id has other instructions, takes its steps.
func TestAChildHasTheAgentOfItsParentsBuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var prompts []string
		build := func(says string) func(*host.Options) {
			return func(c *host.Options) {
				c.Agents.Tools = append(c.Agents.Tools, delegate())
				c.Agents.Models["noted"] = agent.ModelBinding{Model: prompted{c.Agents.Models["m"].Model, &prompts}, Name: "scripted"}
				c.Agents.Specs = append(c.Agents.Specs, agent.Spec{ID: "helper", Model: "noted", SystemPrompt: says})
			}
		}
		a, b := r.process("a", r.store, build("be brief")), r.process("b", r.store, build("be polite"))
		s := submission("t1", `call: delegate {"prompt":"hello","mode":"replay_tool_call"}`)
		if _, err := a.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		hint, _ := r.queue.Receive()
		if err := a.WorkLocal(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
		child := r.childOf(a)
		r.settle(b, s.Thread, child)
		if diff := cmp.Diff([]string{"be brief"}, prompts); diff != "" {
			t.Errorf("system prompts (-want +got):\n%s", diff)
		}
		later := submission("t2", "hello")
		later.Opening.AgentID = "helper"
		if _, err := b.Submit(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		r.settle(b, core.ThreadKey{Tenant: "local", Thread: "t2"})
		if diff := cmp.Diff([]string{"be brief", "be polite"}, prompts); diff != "" {
			t.Errorf("of a run of its own (-want +got):\n%s", diff)
		}
	})
}

// A call whose child would be on a deleted thread has an error as its result, and its run continues.
func TestADeletedThreadStartsNoChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, withHelper)
		call := `call: delegate {"prompt":"echo: hello","mode":"replay_tool_call","kept":"aside"}`
		first := submission("t1", call)
		if _, err := process.Submit(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		kept := core.ThreadKey{Tenant: "local", Thread: "kept.c4b978c0f3315a1a36a0139cb750af28"}
		r.settle(process, first.Thread, kept)
		if err := process.DeleteThread(t.Context(), local, kept.Thread, mailbox.ChildrenDetach); err != nil {
			t.Fatal(err)
		}
		second, err := process.Submit(t.Context(), submission("t1", call))
		if err != nil {
			t.Fatal(err)
		}
		r.settle(process, first.Thread)
		read, err := process.ReadRun(t.Context(), local, second.RunID)
		want := "The result of delegate: execution failed: thread " + kept.Thread + " of the child run was deleted"
		if err != nil || read.Status != core.RunDone || read.Response != want {
			t.Errorf("the run is %s with %q, %v; want it done with %q", read.Status, read.Response, err, want)
		}
	})
}
