package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// workFunc is a Worker.
type workFunc func(ctx context.Context, w core.WakeUp) error

func (f workFunc) Work(ctx context.Context, w core.WakeUp) error { return f(ctx, w) }

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

func TestStepCallsWorkOncePerThread(t *testing.T) {
	var mu sync.Mutex
	got := map[string]uint64{}
	handle := StepHandler(StepOptions{Logger: quiet, Worker: workFunc(func(_ context.Context, w core.WakeUp) error {
		mu.Lock()
		defer mu.Unlock()
		got[w.Key().String()+" "+w.Dispatch.String()] = w.Epoch
		return nil
	})})
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
		{"a panic", []events.SQSMessage{message("m1", "panic", 1), message("m2", "b", 1)}, []string{"m1"}},
		{"two hints of one thread", []events.SQSMessage{message("m1", "error", 1), message("m2", "b", 1), message("m3", "error", 1)}, []string{"m1", "m3"}},
		{"no JSON", []events.SQSMessage{{MessageId: "m1", Body: "hello"}}, []string{}},
		{"an empty body", []events.SQSMessage{{MessageId: "m1"}}, []string{}},
		{"a bad thread id", []events.SQSMessage{message("m1", "a#b", 1), message("m2", "error", 1)}, []string{"m2"}},
		{"a bad dispatch id", []events.SQSMessage{{MessageId: "m1", Body: `{"tenant":"acme","thread":"a","dispatch":"x"}`}}, []string{}},
		{"no messages", nil, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handle := StepHandler(StepOptions{Logger: quiet, Worker: workFunc(func(_ context.Context, w core.WakeUp) error {
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
			})})
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

// All three must be inside Work at the same time for any to return.
func TestStepWorksConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all sync.WaitGroup
		all.Add(3)
		handle := StepHandler(StepOptions{Logger: quiet, Worker: workFunc(func(context.Context, core.WakeUp) error {
			all.Done()
			all.Wait()
			return nil
		})})
		response, _ := handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("m1", "a", 1), message("m2", "b", 1), message("m3", "c", 1)}})
		if got := failures(response); len(got) != 0 {
			t.Errorf("failures = %q", got)
		}
	})
}

func TestStepFailureDoesNotCancelTheOthers(t *testing.T) {
	failed := make(chan struct{})
	handle := StepHandler(StepOptions{Logger: quiet, Worker: workFunc(func(ctx context.Context, w core.WakeUp) error {
		if w.Thread == "error" {
			defer close(failed)
			return errors.New("the model refused")
		}
		<-failed
		return ctx.Err()
	})})
	response, _ := handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("m1", "error", 1), message("m2", "b", 1)}})
	if diff := cmp.Diff([]string{"m1"}, failures(response)); diff != "" {
		t.Error(diff)
	}
}

func TestStepSuspectsRunAloneAndLast(t *testing.T) {
	tests := []struct {
		name      string
		messages  []events.SQSMessage
		wantOrder string
		want      []string
	}{
		{"twice received is no suspect", []events.SQSMessage{message("m1", "a", 2)}, "a", []string{}},
		{"a suspect by itself", []events.SQSMessage{message("m1", "a", 7)}, "a", []string{}},
		{"after the healthy one", []events.SQSMessage{message("m1", "a", 3), message("m2", "b", 1)}, "b a", []string{}},
		{"the most often received of two", []events.SQSMessage{message("m1", "a", 3), message("m2", "b", 4)}, "b", []string{"m1"}},
		{"the first of equals", []events.SQSMessage{message("m1", "a", 3), message("m2", "b", 3), message("m3", "c", 1)}, "c a", []string{"m2"}},
		{"any of a thread's messages", []events.SQSMessage{message("m1", "a", 1), message("m2", "b", 1), message("m3", "a", 3)}, "b a", []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var order []string // no lock: at most one healthy thread, then the suspect alone
			handle := StepHandler(StepOptions{Logger: quiet, Worker: workFunc(func(_ context.Context, w core.WakeUp) error {
				order = append(order, w.Thread)
				return nil
			})})
			response, _ := handle(t.Context(), events.SQSEvent{Records: tt.messages})
			if got := strings.Join(order, " "); got != tt.wantOrder {
				t.Errorf("order = %q, want %q", got, tt.wantOrder)
			}
			if diff := cmp.Diff(tt.want, failures(response)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStepSuspectNeedsAWholeInvocation: a step that runs out of time in its
// invocation ends its run, so that none may begin late.
func TestStepSuspectNeedsAWholeInvocation(t *testing.T) {
	tests := []struct {
		name  string
		spent time.Duration
		want  []string
	}{
		{"nearly all is left", 5 * time.Second, []string{}},
		{"too little is left", 6 * time.Second, []string{"m1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var worked []string
				handle := StepHandler(StepOptions{Logger: quiet, Worker: workFunc(func(_ context.Context, w core.WakeUp) error {
					worked = append(worked, w.Thread)
					if w.Thread == "b" {
						time.Sleep(tt.spent)
					}
					return nil
				})})
				response, _ := handle(ctx, events.SQSEvent{Records: []events.SQSMessage{message("m1", "a", 3), message("m2", "b", 1)}})
				if diff := cmp.Diff(tt.want, failures(response)); diff != "" {
					t.Error(diff)
				}
				if got, want := slices.Contains(worked, "a"), len(tt.want) == 0; got != want {
					t.Errorf("the suspect ran = %v, want %v", got, want)
				}
			})
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
				handle := StepHandler(StepOptions{Logger: quiet, Reserve: tt.reserve, Worker: workFunc(func(ctx context.Context, _ core.WakeUp) error {
					<-ctx.Done()
					return ctx.Err()
				})})
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
	handle := StepHandler(StepOptions{Logger: quiet, Worker: workFunc(func(ctx context.Context, _ core.WakeUp) error {
		if deadline, ok := ctx.Deadline(); ok {
			t.Errorf("deadline = %v", deadline)
		}
		return nil
	})})
	if _, err := handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("m1", "a", 1)}}); err != nil {
		t.Fatal(err)
	}
}
