package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// workFunc is a Worker that is called for one wake-up after the other.
type workFunc func(ctx context.Context, w core.WakeUp) error

func (f workFunc) WorkBatch(ctx context.Context, hints []core.WakeUp) []error {
	errs := make([]error, len(hints))
	for i, hint := range hints {
		errs[i] = f(ctx, hint)
	}
	return errs
}

// message is an SQS message with a wake-up for a thread of tenant acme.
func message(id, thread string, receives int) events.SQSMessage {
	return events.SQSMessage{
		MessageId:  id,
		Body:       `{"tenant":"acme","thread":"` + thread + `","dispatch":"01938a5e-7b4c-7def-8123-456789abcdef","epoch":1}`,
		Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(receives)},
	}
}

func failures(r events.SQSEventResponse) []string {
	ids := []string{}
	for _, f := range r.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

func readEvent[E any](t *testing.T, name string) E {
	t.Helper()
	var event E
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &event); err != nil {
		t.Fatal(err)
	}
	return event
}

func TestStepGivesEachThreadToTheWorkerOnce(t *testing.T) {
	got := map[string]uint64{}
	handle := Handlers{Logger: quiet}.Step(workFunc(func(_ context.Context, w core.WakeUp) error {
		got[w.Key().String()+" "+w.Dispatch.String()] = w.Epoch
		return nil
	}).WorkBatch)
	response, err := handle(t.Context(), readEvent[events.SQSEvent](t, "sqs.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{
		"acme/t-1 01938a5e-7b4c-7def-8123-456789abcdf0":   4,
		"globex/t-1 01938a5e-7b4c-7def-8123-456789abcdf1": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	body, _ := json.Marshal(response)
	if string(body) != `{"batchItemFailures":[]}` {
		t.Errorf("response = %s", body)
	}
}

func TestStepFailsOnlyTheItemsThatFailed(t *testing.T) {
	tests := []struct {
		name     string
		messages []events.SQSMessage
		want     []string
	}{
		{"all good", []events.SQSMessage{message("m1", "a", 1), message("m2", "b", 1)}, []string{}},
		{"an error", []events.SQSMessage{message("m1", "a", 1), message("m2", "error", 1), message("m3", "b", 1)}, []string{"m2"}},
		{"a worker that panics", []events.SQSMessage{message("m1", "panic", 1), message("m2", "b", 1)}, []string{"m1", "m2"}},
		{"two hints of one thread", []events.SQSMessage{message("m1", "error", 1), message("m2", "b", 1), message("m3", "error", 1)}, []string{"m1", "m3"}},
		{"no JSON", []events.SQSMessage{{MessageId: "m1", Body: "hello"}}, []string{}},
		{"an empty body", []events.SQSMessage{{MessageId: "m1"}}, []string{}},
		{"a bad thread id", []events.SQSMessage{message("m1", "a#b", 1), message("m2", "error", 1)}, []string{"m2"}},
		{"a bad dispatch id", []events.SQSMessage{{MessageId: "m1", Body: `{"tenant":"acme","thread":"a","dispatch":"x"}`}}, []string{}},
		{"no messages", nil, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handle := Handlers{Logger: quiet}.Step(workFunc(func(_ context.Context, w core.WakeUp) error {
				switch w.Thread {
				case "error":
					return errors.New("the store is down")
				case "panic":
					panic("a bug in a tool")
				case "a", "b":
					return nil
				}
				t.Errorf("Work was called for %q", w.Thread)
				return nil
			}).WorkBatch)
			response, err := handle(t.Context(), events.SQSEvent{Records: tt.messages})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, failures(response)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// batchFunc is a Worker.
type batchFunc func(ctx context.Context, hints []core.WakeUp) []error

func (f batchFunc) WorkBatch(ctx context.Context, hints []core.WakeUp) []error { return f(ctx, hints) }

// TestStepGivesABatchToTheWorkerWhole: the worker decides what of it may run
// beside what, for which it must see all.
func TestStepGivesABatchToTheWorkerWhole(t *testing.T) {
	var got [][]string
	handle := Handlers{Logger: quiet}.Step(batchFunc(func(_ context.Context, hints []core.WakeUp) []error {
		var threads []string
		for _, hint := range hints {
			threads = append(threads, hint.Thread)
		}
		got = append(got, threads)
		return make([]error, len(hints))
	}).WorkBatch)
	batch := []events.SQSMessage{message("m1", "c", 1), message("m2", "a", 7), message("m3", "c", 3), message("m4", "b", 1)}
	response, _ := handle(t.Context(), events.SQSEvent{Records: batch})
	if diff := cmp.Diff([][]string{{"c", "a", "b"}}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, failures(response)); diff != "" {
		t.Error(diff)
	}
}

// TestHintsOfAThreadBecomeOne: what is left out must not take along what the
// other hint was good for.
func TestHintsOfAThreadBecomeOne(t *testing.T) {
	hint := func(epoch uint64, tries int, sweep bool) core.WakeUp {
		return core.WakeUp{Tenant: "acme", Thread: "a", Epoch: epoch, Tries: tries, Sweep: sweep}
	}
	tests := []struct {
		name                string
		first, second, want core.WakeUp
		also                *core.WakeUp
	}{
		{"the later epoch", hint(2, 0, false), hint(3, 0, false), hint(3, 0, false), nil},
		{"whatever comes first", hint(3, 0, false), hint(2, 0, false), hint(3, 0, false), nil},
		{"one that the sweep did not send", hint(0, 0, true), hint(0, 0, false), hint(0, 0, false), nil},
		{"also when its epoch is earlier", hint(1, 0, true), hint(0, 0, false), hint(1, 0, false), nil},
		{"the sweep's when there is no other", hint(0, 0, true), hint(0, 0, true), hint(0, 0, true), nil},
		{"the one with most tries left", hint(1, 5, false), hint(1, 2, false), hint(1, 2, false), nil},
	}
	summary := core.WakeUp{Tenant: "acme", Thread: "a", Kind: core.WakeCompact}
	tests = append(tests, struct {
		name                string
		first, second, want core.WakeUp
		also                *core.WakeUp
	}{"two of different kinds stay two", hint(2, 0, false), summary, hint(2, 0, false), &summary})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []core.WakeUp
			handle := Handlers{Logger: quiet}.Step(workFunc(func(_ context.Context, w core.WakeUp) error {
				got = append(got, w)
				return nil
			}).WorkBatch)
			event := events.SQSEvent{}
			for _, w := range []core.WakeUp{tt.first, tt.second} {
				body, err := json.Marshal(w)
				if err != nil {
					t.Fatal(err)
				}
				event.Records = append(event.Records, events.SQSMessage{MessageId: "m", Body: string(body)})
			}
			if _, err := handle(t.Context(), event); err != nil {
				t.Fatal(err)
			}
			want := []core.WakeUp{tt.want}
			if tt.also != nil {
				want = append(want, *tt.also)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStepContextEndsBeforeTheDeadline(t *testing.T) {
	tests := []struct {
		name             string
		timeout, reserve time.Duration
		want             time.Duration
	}{
		{"by default 5 s", 30 * time.Second, 0, 25 * time.Second},
		{"by what was asked", 30 * time.Second, 10 * time.Second, 20 * time.Second},
		{"at half time when it is short", 6 * time.Second, 0, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				handle := Handlers{Logger: quiet, Reserve: tt.reserve}.Step(workFunc(func(ctx context.Context, _ core.WakeUp) error {
					<-ctx.Done()
					return ctx.Err()
				}).WorkBatch)
				response, _ := handle(ctx, events.SQSEvent{Records: []events.SQSMessage{message("m1", "a", 1)}})
				if got := time.Since(started); got != tt.want {
					t.Errorf("ended after %v, want %v", got, tt.want)
				}
				if diff := cmp.Diff([]string{"m1"}, failures(response)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestStepContextHasNoDeadlineWithoutOne(t *testing.T) {
	handle := Handlers{Logger: quiet}.Step(workFunc(func(ctx context.Context, _ core.WakeUp) error {
		if deadline, ok := ctx.Deadline(); ok {
			t.Errorf("deadline = %v", deadline)
		}
		return nil
	}).WorkBatch)
	if _, err := handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("m1", "a", 1)}}); err != nil {
		t.Fatal(err)
	}
}
