package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// A message that fails comes back, a second later for each time that it was received, and goes
// to the dead-letter handler after the fifth. The others of its batch are deleted.
func TestTheQueueDeliversAsSQSDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, start := newQueue(env.System(), slog.New(slog.DiscardHandler)), time.Now()
		var mu sync.Mutex
		var got []string
		note := func(what string, e events.SQSEvent) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range e.Records {
				got = append(got, fmt.Sprintf("%s %s %s %s", time.Since(start), what, r.MessageId, r.Attributes["ApproximateReceiveCount"]))
			}
		}
		step := func(_ context.Context, e events.SQSEvent) (response events.SQSEventResponse, err error) {
			note("step", e)
			for _, r := range e.Records {
				if r.MessageId == "2" {
					response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: "2"})
				}
			}
			return response, nil
		}
		dead := func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			note("dead", e)
			return events.SQSEventResponse{}, errors.New("logged")
		}
		for _, name := range []string{"a", "b", "c"} {
			if err := q.Wake(t.Context(), core.WakeUp{Tenant: "t", Thread: name}, 0); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		q.run(ctx, step, dead)
		want := []string{"0s step 1 1", "0s step 2 1", "0s step 3 1", "1s step 2 2", "3s step 2 3", "6s step 2 4", "10s step 2 5", "10s dead 2 5"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
