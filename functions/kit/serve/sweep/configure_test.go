package sweep

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Each row is a promise of README.md that one line of configure keeps.
func TestTheSweepIsWiredAsTheDocumentsSay(t *testing.T) {
	given := func(environ ...string) mailbox.Options {
		s, err := settings.Read(environ)
		if err != nil {
			t.Fatal(err)
		}
		o, err := configure(&cloud.Function{Settings: s, Env: env.System(), Store: &dynamo.Store{}, Queue: &sqs.Queue{}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	defaults := given()
	set := given("REVEILLE_USAGE_DAYS=30", `REVEILLE_LIMITS={"default":{"concurrent_runs":3}}`)
	for _, row := range []struct {
		promise   string
		got, want any
	}{
		{"usage is kept for 396 days", defaults.KeepUsage, 396 * 24 * time.Hour},
		{"REVEILLE_USAGE_DAYS", set.KeepUsage, 30 * 24 * time.Hour},
		{"nothing is limited by itself", defaults.Limits.Of("acme").IsZero(), true},
		{"REVEILLE_LIMITS, whose slots it looks after", set.Limits.Of("acme").IsZero(), false},
		{"store, queue, environment, log", defaults.Env != nil && defaults.Store != nil && defaults.Waker != nil && defaults.Logger != nil, true},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.promise, diff)
		}
	}
}
