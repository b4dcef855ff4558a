package launch

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// function is a function with these variables.
func function(t *testing.T, environ ...string) *cloud.Function {
	t.Helper()
	s, err := settings.Read(environ)
	if err != nil {
		t.Fatal(err)
	}
	return &cloud.Function{Settings: s, Env: env.System(), Store: &dynamo.Store{}, Queue: &sqs.Queue{}, Logger: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))}
}

// silent is a publisher that nobody hears.
type silent struct{ mailbox.Publisher }

// given is what the runtime of a function is built of.
func given(t *testing.T, c *cloud.Function) host.Options {
	t.Helper()
	config, err := configure(c, agent.Parts{Default: "demo"}, silent{})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// Each row is a promise of README.md or template.yaml that one line of configure keeps.
func TestFunctionsAreWiredAsTheDocumentsSay(t *testing.T) {
	defaults := given(t, function(t))
	set := given(t, function(t,
		"REVEILLE_LEASE=45s", "REVEILLE_STEPS_PER_INVOCATION=7", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
		"REVEILLE_WEBHOOK_URL=https://hooks.example/in", "REVEILLE_USAGE_DAYS=30",
		`REVEILLE_LIMITS={"default":{"spend_a_day_usd":5}}`,
		`REVEILLE_MODEL_CATALOG={"models":[{"provider":"p","names":["m"],"prices":[{"from":"2026-01-01","input":3,"output":4,"source":"a contract"}]}]}`,
	))
	rates, err := set.Metering.Rates()
	if err != nil {
		t.Fatal(err)
	}
	cost, known := set.Prices("p", "m", core.Usage{Input: 1_000_000}, time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	for _, row := range []struct {
		promise   string
		got, want any
	}{
		{"a stream that only follows yields after 60 s", defaults.FollowFor, 60 * time.Second},
		{"a claim holds for 30 s", defaults.Lease, 30 * time.Second},
		{"REVEILLE_LEASE", set.Lease, 45 * time.Second},
		{"one step for each delivery", defaults.Steps, 1},
		{"REVEILLE_STEPS_PER_INVOCATION", set.Steps, 7},
		{"a quarter of the memory keeps conversations", set.CacheSize, 128 << 20},
		{"a run is left to another build for 10 minutes, the runtime's default", defaults.LeaveFor, time.Duration(0)},
		{"an inline run keeps 20 s, the runtime's default", defaults.Reserve, time.Duration(0)},
		{"other processes' commits are seen after 500 ms, the runtime's default", defaults.FollowInterval, time.Duration(0)},
		{"nothing is announced without an address", defaults.Announce, false},
		{"REVEILLE_WEBHOOK_URL announces", set.Announce, true},
		{"who is told is the runtime's", set.Publisher != nil, true},
		{"usage is kept for 396 days", defaults.Metering.Keep, 396 * 24 * time.Hour},
		{"REVEILLE_USAGE_DAYS", set.Metering.Keep, 30 * 24 * time.Hour},
		{"the function's memory is priced", set.Metering.Memory, 512},
		{"a million write units cost what the table of prices says", rates.WriteUnits != 0 && rates.ReadUnits != 0 && rates.QueueRequests != 0 && rates.GBSeconds != 0, true},
		{"models' prices are known to usage", defaults.Metering.Models != nil, true},
		{"stretches write lines of usage", defaults.Metering.Ended != nil, true},
		{"steps write lines of metrics", defaults.Report != nil, true},
		{"nothing is limited by itself", defaults.Limits.Spends(), false},
		{"REVEILLE_LIMITS", set.Limits.Spends(), true},
		{"REVEILLE_MODEL_CATALOG prices the limits", known && cost.String() == "3", true},
		{"the agents", defaults.Agents.Default, "demo"},
		{"a logger", defaults.Logger != nil, true},
		{"the environment", defaults.Env != nil && defaults.Store != nil && defaults.Waker != nil, true},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.promise, diff)
		}
	}
}

func TestAFunctionRecordsNoUsageWhenItIsToldSo(t *testing.T) {
	if m := given(t, function(t, "REVEILLE_USAGE_DAYS=0")).Metering; m != nil {
		t.Errorf("metering %+v, want none", m)
	}
}

// Two sandboxes are two workers: a claim of one is not the other's.
func TestEachSandboxHasANameOfItsOwn(t *testing.T) {
	c := function(t)
	names := []string{given(t, c).Worker, given(t, c).Worker}
	if slices.Contains(names, "") || names[0] == names[1] {
		t.Errorf("workers %q, want two names", names)
	}
}

func TestABrokenLimitIsNamedAtStart(t *testing.T) {
	_, err := configure(function(t, `REVEILLE_LIMITS={"default":{"runs":1}}`), agent.Parts{}, nil)
	if err == nil {
		t.Error("a limit that is unknown is accepted")
	}
}
