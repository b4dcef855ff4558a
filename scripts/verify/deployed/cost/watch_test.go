package cost

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/outbound/emf"
	"github.com/reveille-run/reveille/core"
	usage "github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/scripts/verify/alarms"
)

// TestTenAgentsCostAtMostFiveDollars: the row "metrics and alarms" of infra/cost.md.
func TestTenAgentsCostAtMostFiveDollars(t *testing.T) {
	_, beyond := total(recorded(t).Watching())
	if beyond <= 0 || beyond > 5 {
		t.Errorf("metrics and alarms cost %v USD beyond the free tier, at most 5 are allowed", beyond)
	}
}

func TestMetricsAndAlarms(t *testing.T) {
	a := watched()
	want := []Line{
		{"CloudWatch: metrics of the functions, of ten agents", 20, 60, 10},
		{"CloudWatch: metrics that alarms watch", 27, 54, 10},
		{"CloudWatch: GB of lines of metrics and usage", 0.051, 0.102, 5},
		{"CloudWatch: GB that saved queries read", 1, 7, 0},
	}
	if diff := cmp.Diff(want, a.Watching(), cmp.Comparer(near)); diff != "" {
		t.Error(diff)
	}
	if sum, beyond := total(a.Watching()); !near(sum, 121.102) || !near(beyond, 71) {
		t.Errorf("the sum is %v, beyond what is free %v", sum, beyond)
	}
}

// watched is the account with round prices of CloudWatch.
func watched() Account {
	a := account
	a.Prices.Month.Metric, a.Prices.Month.AlarmMetric, a.Prices.GB.Queried = 3, 2, 7
	return a
}

// TestTheLinesOfTenAgents counts the metrics that their lines become, and the bytes of a run.
func TestTheLinesOfTenAgents(t *testing.T) {
	var log bytes.Buffer
	id := core.ID{0x01, 0x9a, 15: 0x07}
	for n := range 10 {
		agent := fmt.Sprintf("agent-%d", n)
		for _, function := range []string{"step", "stream"} {
			key := core.ThreadKey{Tenant: fmt.Sprintf("tenant-%d-%s", n, function), Thread: "t1"}
			w := emf.New(&log, emf.Options{Stack: "agents", Function: function})
			run := core.Run{ID: id, AgentID: agent, Status: core.RunWaiting}
			w.Ended(key, run)
			run.Status = core.RunDone
			for _, end := range []core.Termination{
				{Type: core.TerminationNatural}, {Type: core.TerminationStopped, Code: "max_rounds"}, {Type: core.TerminationCancelled},
				{Type: core.TerminationError, Code: "model"}, {Type: core.TerminationError, Code: "timeout"}, {Type: core.TerminationError, Code: "dead_letter"},
				{Type: core.TerminationError, Code: "expired"},
			} {
				run.Termination = &end
				w.Ended(key, run)
			}
			w.ModelErrors(key, id, agent, "openai", fmt.Sprintf("model-%d", n), "rate_limited", 2)
			w.ModelErrors(key, id, agent, "openai", fmt.Sprintf("model-%d", n), "overloaded", 1)
			w.Late(key, id, agent, 2*time.Minute)
			w.Used(key.Tenant, usage.Record{Agent: agent, Run: id, End: "waiting"})
		}
	}
	samples, err := alarms.Samples(alarms.Lines("steps", time.Now(), log.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if names := alarms.Names(samples); len(names) != AgentMetrics {
		t.Errorf("the lines become %d metrics, want %d: %q", len(names), AgentMetrics, names)
	}
}

func TestTheBytesOfARun(t *testing.T) {
	var log bytes.Buffer
	id := core.ID{0x01, 0x9a, 15: 0x07}
	key := core.ThreadKey{Tenant: "acme-corporation", Thread: "conversation-2026-11-29-000001"}
	w := emf.New(&log, emf.Options{Stack: "reveille-prod", Function: "stream"})
	run := core.Run{ID: id, AgentID: "customer-service", Status: core.RunWaiting, Steps: 3}
	w.Ended(key, run)
	run.Status, run.Termination = core.RunDone, &core.Termination{Type: core.TerminationNatural}
	w.Ended(key, run)
	used := usage.Record{Agent: run.AgentID, Run: id, Since: 1, Until: 60_000, End: "natural_end", Tools: 4, Models: []core.ModelUse{
		{Provider: "anthropic", Model: "claude-haiku-4-5", Usage: core.Usage{Input: 12_345, Output: 1234, CacheRead: 10_000}, Inferences: 3},
	}}
	w.Used(key.Tenant, used)
	w.Used(key.Tenant, used)
	if n := log.Len(); n > RunBytes || n < RunBytes*8/10 {
		t.Errorf("the lines have %d bytes; RunBytes says %v", n, RunBytes)
	}
}
