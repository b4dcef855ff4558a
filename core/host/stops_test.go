package host_test

import (
	"context"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store/memory"
)

func TestBuildRefusesNilStopPolicies(t *testing.T) {
	build := func(parts, config []agent.StopPolicy) error {
		e := env.System()
		_, err := host.New(host.Options{
			Env: e, Store: memory.New(), Waker: &mailboxtest.Queue{}, Stops: config,
			Agents: agent.Parts{
				Models: map[string]agent.ModelBinding{"m": {Model: truncated{}}}, Specs: []agent.Spec{{ID: "demo", Model: "m"}}, Stops: parts,
			},
		})
		return err
	}
	if err := build([]agent.StopPolicy{agent.StopFunc(nil)}, nil); err == nil || err.Error() != "build host: stop policy Parts.Stops[0] is nil" {
		t.Errorf("of the parts: %v", err)
	}
	if err := build(nil, []agent.StopPolicy{consecutiveErrors{}, nil}); err == nil || err.Error() != "build host: stop policy Options.Stops[1] is nil" {
		t.Errorf("of the configuration: %v", err)
	}
}

// consecutiveErrors stops a run at its third failed step in a row.
type consecutiveErrors struct{}

func (consecutiveErrors) ToleratesFailures() bool { return true }

func (consecutiveErrors) Check(v agent.StopView) *core.Termination {
	if v.ErrorSteps < 3 {
		return nil
	}
	return &core.Termination{Type: core.TerminationStopped, Code: agent.StopConsecutiveErrors, Detail: "three failed steps"}
}

// refusing is a model whose first two calls are refused for good.
type refusing struct{ calls *int }

func (m refusing) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if *m.calls++; *m.calls <= 2 {
			yield(model.Delta{}, &model.Error{Kind: model.KindFiltered, Message: "10.0.0.7 refuses it"})
			return
		}
		_ = yield(model.Delta{Type: model.DeltaText, Text: "well"}, nil) && yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
	}
}

// Whoever reads a run with failed inferences finds its messages as if there were none,
// and the failures among its events.
func TestReadersOfARunWithFailedInferences(t *testing.T) {
	calls := 0
	w := newWorld(t, func(c *host.Options) {
		c.Agents.Models = map[string]agent.ModelBinding{"m": {Model: refusing{&calls}}}
		c.Stops = []agent.StopPolicy{consecutiveErrors{}}
	})
	key := core.ThreadKey{Tenant: local.Tenant, Thread: "t1"}
	receipt, err := w.Submit(t.Context(), mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("hi")}})
	if err != nil {
		t.Fatal(err)
	}
	w.drain(t)
	page, err := w.Messages(t.Context(), local, "t1", host.MessageQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	next, err := w.Messages(t.Context(), local, "t1", host.MessageQuery{After: page.Next})
	if err != nil {
		t.Fatal(err)
	}
	newest, err := w.Messages(t.Context(), local, "t1", host.MessageQuery{Newest: true})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range append(append(page.Messages, next.Messages...), newest.Messages...) {
		texts = append(texts, string(m.Role)+" "+m.Text())
	}
	if diff := cmp.Diff([]string{"user hi", "assistant well", "user hi", "assistant well"}, texts); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	var events []string
	if err := w.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(func(e core.Event) error {
		events = append(events, string(e.Type)+" "+e.Reason+e.Delta)
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"run_start ",
		"step_start ", "inference_failed content_filtered", "step_end ",
		"step_start ", "inference_failed content_filtered", "step_end ",
		"step_start ", "text_delta well", "inference_complete ", "step_end ",
		"run_finish ",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
