package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Trigger returns a handler for every source of events that starts runs; see
// [ReadEvents]. An event that is delivered again starts no second run.
//
// A failed event is delivered again, and finally goes to the dead-letter queue or
// destination of its source:
//
//   - A message of SQS fails alone (ReportBatchItemFailures), and the redrive policy of
//     its queue decides. In a FIFO queue the later messages of its group fail with it, to
//     keep their order.
//   - In a DynamoDB stream the first record that failed is reported, and all records from
//     it on are delivered again (ReportBatchItemFailures, with BisectBatchOnFunctionError
//     and a destination for failures).
//   - Any other event fails the invocation. Lambda repeats it twice, then sends it to the
//     function's destination for failures.
//
// An event that matches no trigger is not a failure. One log line counts the events of an
// invocation and their results. A payload of another shape fails the invocation.
//
// triggers is a *rules.Set. routes serves HTTP requests, which are webhooks, as
// [Handlers.Buffered] does; if it is nil, an HTTP request is a payload of an unknown
// shape.
func (h Handlers) Trigger(triggers incoming.Firer, routes http.Handler) func(context.Context, json.RawMessage) (any, error) {
	var serve func(context.Context, json.RawMessage) (any, error)
	if routes != nil {
		serve = Handlers{Env: h.Env, Logger: h.Logger}.Buffered(routes)
	}
	h = h.withDefaults(defaultReserve)
	t := triggering{firer: triggers, env: h.Env, log: h.Logger, reserve: h.Reserve}
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		if _, err := readHTTPEvent(payload, doorHTTP); err == nil && serve != nil {
			return serve(ctx, payload)
		}
		ctx, cancel := endBefore(ctx, t.env.Now(), t.reserve)
		defer cancel()
		arrivals, err := readArrivals(payload)
		if err != nil {
			t.log.ErrorContext(ctx, "unknown event", errorAttrs(err)...)
			return nil, err
		}
		return t.handle(ctx, arrivals)
	}
}

type triggering struct {
	firer   incoming.Firer
	env     *env.Env
	log     *slog.Logger
	reserve time.Duration
}

// handle fires the events of one payload, which are all of one source.
func (t triggering) handle(ctx context.Context, arrivals []arrival) (any, error) {
	var tally tally
	defer func() { tally.log(ctx, t.log, arrivals) }()
	switch arrivals[0].Source {
	case incoming.SQS:
		return t.messages(ctx, arrivals, &tally), nil
	case incoming.DynamoDB:
		return t.changes(ctx, arrivals, &tally), nil
	}
	var failed []error
	for _, a := range arrivals {
		if err := t.fire(ctx, a, &tally); err != nil {
			failed = append(failed, fmt.Errorf("event %s of %s: %w", a.ID, a.Source, err))
		}
	}
	return nil, errors.Join(failed...)
}

// messages takes a batch in its order, which is that of a FIFO queue's groups.
func (t triggering) messages(ctx context.Context, arrivals []arrival, tally *tally) events.SQSEventResponse {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	stuck := map[string]bool{} // groups one of whose messages failed
	for _, a := range arrivals {
		behind := a.group != "" && stuck[a.group]
		if behind {
			tally.failed++
		}
		if behind || t.fire(ctx, a, tally) != nil {
			stuck[a.group] = true
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: a.item})
		}
	}
	return response
}

// changes takes a batch in its order, up to the first that fails.
func (t triggering) changes(ctx context.Context, arrivals []arrival, tally *tally) events.DynamoDBEventResponse {
	response := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	for _, a := range arrivals {
		if t.fire(ctx, a, tally) != nil {
			// One without a number cannot be named: an empty name fails the whole batch.
			response.BatchItemFailures = append(response.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: a.item})
			break
		}
	}
	return response
}

// fire gives one event to the triggers.
func (t triggering) fire(ctx context.Context, a arrival, tally *tally) error {
	var receipts []mailbox.Receipt
	err := a.broken
	if err == nil {
		err = env.Protect(func() (err error) {
			receipts, err = t.firer.Fire(ctx, a.Event)
			return err
		})
	}
	for _, r := range receipts {
		if r.Duplicate {
			tally.duplicates++
		} else {
			tally.started++
		}
	}
	switch {
	case err != nil:
		tally.failed++
		t.log.ErrorContext(ctx, "event failed", append([]any{"source", a.Source, "event", a.ID}, errorAttrs(err)...)...)
	case len(receipts) == 0:
		tally.ignored++
	}
	return err
}

// tally counts what became of the events of an invocation.
type tally struct{ started, duplicates, ignored, failed int }

func (c tally) log(ctx context.Context, log *slog.Logger, arrivals []arrival) {
	level := slog.LevelInfo
	if c.failed > 0 {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "events", "source", arrivals[0].Source, "events", len(arrivals),
		"started", c.started, "duplicates", c.duplicates, "ignored", c.ignored, "failed", c.failed)
}
