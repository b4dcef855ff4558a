package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// faultedWays are what a run may meet on its way, beside the ends of tracedEnds.
func faultedWays(t *testing.T) []traced {
	a, b := calls("echo", `{"text":"a"}`), calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`)
	numbers := replies(calls("echo", `{"text":"a"}`), text(`{"n":`), text(`{"n":1}`))
	hints := &compactions{}
	return []traced{
		{name: "both are decided in a batch", gate: asksAll, options: options{mode: agent.ParallelBatchApproval, model: turns(says(b...), one)}, act: decides(approve, deny)},
		{name: "both are decided as they come", gate: asksAll, options: options{mode: agent.ParallelStreaming, model: turns(says(b...), one)}, act: decides(approve, approve)},
		{name: "one call after the other is decided", gate: asksAll, options: options{model: turns(says(b...), one)}, act: decides(approve, cancels)},
		{name: "a tool asks", options: options{tools: []tool.Tool{asksFirst}, model: turns(says(calls("asks", "{}")...), one)}, act: decides(approve)},
		{name: "a tool of two parts", options: options{tools: []tool.Tool{(&trip{}).tool()}, model: turns(says(calls("trip", "{}")...), one)}},
		{name: "a frontend brings something", options: options{model: turns(says(a...), one)}, act: func(t *testing.T, w *world, _ *trace) {
			w.brought(t, "hi", `{"n":1}`)
			w.finish(t, key, nil)
		}},
		{name: "input comes while a tool runs", options: options{tools: []tool.Tool{nap}, model: turns(says(calls("nap", "{}")...), one)}, act: after(steer)},
		{name: "input comes while it waits", gate: askA, options: options{model: turns(says(a...), one)}, act: stepped(steer)},
		{name: "the log is taken back", options: options{model: turns(says(a...), one)}, act: conversation("one", "two", "one instead")},
		{name: "the log is taken back by a run that is cancelled first", options: options{model: turns(says(a...), one)}, act: func(t *testing.T, w *world, r *trace) {
			conversation("one", "two")(t, w, r)
			receipt := w.supersedes(t, 1, "one instead")
			if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
				t.Fatal(err)
			}
			w.finish(t, key, nil)
		}},
		{name: "a run that failed is taken up", options: options{model: turns(says(a...), breaks(&model.Error{Kind: model.KindInvalid, Message: "broken pipe"}), one)}, act: func(t *testing.T, w *world, r *trace) {
			receipt := r.submitFirst(t, w)
			w.finish(t, key, nil)
			_, _ = w.box.TakeUp(t.Context(), key, "", receipt.RunID) // refused where the fault was the failure
			w.finish(t, key, nil)
		}},
		{name: "a summary is made in the step", options: options{model: short(&summaries{}), context: compacting(agent.CompactInline)}, act: conversation(long("one"), long("two"), long("three"))},
		{name: "a summary is made behind the step", options: options{model: short(&summaries{}), context: compacting(compaction.Background), compact: hints.add}, act: func(t *testing.T, w *world, r *trace) {
			for _, text := range []string{"one", "two", "three", "four"} {
				conversation(long(text))(t, w, r)
				for ; hints.hints > 0; hints.hints-- {
					if err := w.stepper.Summaries().Compact(t.Context(), key); err != nil {
						hints.hints++ // its hint comes again
						time.Sleep(time.Second)
					}
				}
			}
		}},
		{name: "an answer that is not of its form", options: options{agents: spec(t, numbers, agent.Spec{ResponseFormat: numbered})}},
		{name: "a result that is too large", options: options{limit: 3300, tools: []tool.Tool{large}, model: turns(says(calls("echo", `{"text":"a"}`, "large", "{}")...), one)}},
	}
}

func asksAll(c plugin.GateCall) (plugin.Verdict, error) {
	return suspends(fmt.Sprintf("gate%d", c.CallIndex)), nil
}

// asksFirst is a tool that waits for a decision before it runs.
var asksFirst = toolFunc{name: "asks", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
	if c.Resume == nil {
		return tool.Suspended(core.TicketRequest{ID: "tool", Action: "tool:ask"}), nil
	}
	return tool.NewResult("answered"), nil
}}

// large is a tool whose result no store of a small limit takes.
var large = toolFunc{name: "large", run: func(context.Context, tool.Call) (tool.Result, error) {
	return tool.NewResult(strings.Repeat("x", 4000)), nil
}}

func long(text string) string { return text + " " + strings.Repeat("x", 4400) }

// decides takes the decisions one after the other, about each call that waits then.
func decides(all ...core.Decision) func(*testing.T, *world, *trace) {
	return func(t *testing.T, w *world, r *trace) {
		r.submitFirst(t, w)
		w.finish(t, key, nil)
		for call, d := range all {
			w.mustDecide(t, call, d)
			w.finish(t, key, nil)
		}
	}
}

func steer(t *testing.T, w *world, _ *trace, _ mailbox.Receipt) {
	_, err := w.box.Submit(context.WithoutCancel(t.Context()), mailbox.Submission{
		Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("and this")}, Mode: mailbox.ModeSteer,
	})
	if err != nil {
		t.Error(err)
	}
}

// conversation says the texts, each when the run before is over. One that ends with
// "instead" takes back what was said from the first message on.
func conversation(texts ...string) func(*testing.T, *world, *trace) {
	return func(t *testing.T, w *world, _ *trace) {
		for _, text := range texts {
			from := uint64(0)
			if strings.HasSuffix(text, "instead") {
				from = 1
			}
			w.supersedes(t, from, text)
			w.finish(t, key, nil)
		}
	}
}

// supersedes submits input that takes back the log from a sequence on; 0: nothing.
func (w *world) supersedes(t *testing.T, from uint64, text string) mailbox.Receipt {
	t.Helper()
	receipt, err := w.box.Submit(t.Context(), mailbox.Submission{
		Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage(text)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}
