package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// batch is an SQS event, read.
type batch struct {
	deliveries []*delivery // in order of their first message
	messages   int
	discarded  int // messages that are not wake-ups
}

// delivery is what a batch says about one thread, in wake-ups of one kind.
type delivery struct {
	wake     core.WakeUp // see merge
	messages []string    // ids; they succeed or fail together
	receives int         // the highest ApproximateReceiveCount, for the log
}

func readBatch(event events.SQSEvent, log *slog.Logger) batch {
	b := batch{messages: len(event.Records)}
	type about struct {
		thread core.ThreadKey
		kind   string
	}
	byThread := make(map[about]*delivery, len(event.Records))
	for _, message := range event.Records {
		wake, err := readWakeUp(message.Body)
		if err != nil {
			b.discarded++
			log.Warn("message is not a wake-up, discarded", "message", message.MessageId, "error", err)
			continue
		}
		d := byThread[about{wake.Key(), wake.Kind}]
		if d == nil {
			d = &delivery{wake: wake}
			byThread[about{wake.Key(), wake.Kind}] = d
			b.deliveries = append(b.deliveries, d)
		} else {
			d.wake = merge(d.wake, wake)
		}
		d.messages = append(d.messages, message.MessageId)
		// A missing or unreadable count is a first delivery.
		receives, _ := strconv.Atoi(message.Attributes["ApproximateReceiveCount"])
		d.receives = max(d.receives, receives)
	}
	return b
}

// merge returns one hint for two of a thread: that of the later epoch, with the
// tries that the better one has left. It is the sweep's, which never sends
// itself again, only if both are.
func merge(a, b core.WakeUp) core.WakeUp {
	one := a
	if b.Epoch > a.Epoch {
		one = b
	}
	one.Tries, one.Sweep = min(a.Tries, b.Tries), a.Sweep && b.Sweep
	return one
}

// readWakeUp ignores unknown keys: during a deployment a newer version may
// already send them.
func readWakeUp(body string) (core.WakeUp, error) {
	var wake core.WakeUp
	if err := json.Unmarshal([]byte(body), &wake); err != nil {
		return core.WakeUp{}, fmt.Errorf("wake-up: %w", err)
	}
	return wake, wake.Check()
}

func (b batch) logResult(ctx context.Context, log *slog.Logger, what string, failed int) {
	level := slog.LevelDebug
	if failed > 0 || b.discarded > 0 {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, what, "messages", b.messages, "threads", len(b.deliveries), "failed", failed, "discarded", b.discarded)
}

func (d *delivery) attrs() []any {
	return []any{"tenant", d.wake.Tenant, "thread", d.wake.Thread, "dispatch", d.wake.Dispatch, "receives", d.receives}
}

// runAll calls f for every delivery concurrently and returns, in order, those
// that it returned false for. f must not panic.
func runAll(ctx context.Context, e *env.Env, deliveries []*delivery, f func(context.Context, *delivery) bool) []*delivery {
	done := make([]bool, len(deliveries))
	group, ctx := e.Group(ctx)
	for i, d := range deliveries {
		group.Go(func(context.Context) error {
			done[i] = f(ctx, d)
			return nil // an error would cancel the other threads
		})
	}
	_ = group.Wait() // a function that panics leaves its done at false
	var failed []*delivery
	for i, d := range deliveries {
		if !done[i] {
			failed = append(failed, d)
		}
	}
	return failed
}

func itemFailures(failed []*delivery) events.SQSEventResponse {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, d := range failed {
		for _, id := range d.messages {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}
	}
	return response
}

// errorAttrs describes an error for the log, with the stack of a panic.
func errorAttrs(err error) []any { return append(env.ErrorAttrs(err), "code", core.CodeOf(err)) }
