package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// trip is a tool of two parts, which counts how often each of them ran.
type trip struct {
	flights, hotels int
	between         func() // happens between the two
}

func (p *trip) tool() tool.Tool {
	part := func(count *int) func(context.Context) (json.RawMessage, error) {
		return func(context.Context) (json.RawMessage, error) {
			*count++
			return json.RawMessage(fmt.Sprintf(`{ "number": %d }`, *count)), nil
		}
	}
	return toolFunc{name: "trip", run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
		flight, err := call.Once(ctx, "flight", part(&p.flights))
		if err != nil {
			return tool.Result{}, fmt.Errorf("flight: %w", err)
		}
		if p.between != nil {
			p.between()
		}
		hotel, err := call.Once(ctx, "hotel", part(&p.hotels))
		if err != nil {
			return tool.Result{}, fmt.Errorf("hotel: %w", err)
		}
		return tool.NewResult(string(flight) + string(hotel)), nil
	}}
}

func TestFinishedPartIsNotRepeated(t *testing.T) {
	tests := []struct {
		name            string
		put             int // the process dies before it stores this record alone
		flights, hotels int
		result          string
	}{
		{"after a crash before the first part was kept", 1, 2, 1, `{\"number\":2}{\"number\":1}`},
		{"after a crash between the parts", 2, 1, 2, `{\"number\":1}{\"number\":2}`},
		{"after a crash before the result was stored", 3, 1, 1, `{\"number\":1}{\"number\":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p trip
				nap := toolFunc{name: "rest", run: func(context.Context, tool.Call) (tool.Result, error) {
					time.Sleep(time.Second)
					return tool.NewResult("rested"), nil
				}}
				o := options{model: replies(calls("trip", "{}", "rest", "{}"), text("ok")), tools: []tool.Tool{p.tool(), nap}}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				puts := 0
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if puts++; puts >= tt.put {
						w.store.dead.Store(true)
						return errDead
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err == nil {
					t.Fatal("the step did not crash")
				}
				w.store.dead.Store(false)
				w.store.OnPut = nil
				w.reclaim(t)
				w.stepper = w.other(t, o)
				w.finish(t, key, nil)
				want := []string{"user: hi", "assistant: [trip {}][rest {}]", `tool: "` + tt.result + `"`, `tool: "rested"`, "assistant: ok"}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Error(diff)
				}
				if p.flights != tt.flights || p.hotels != tt.hotels {
					t.Errorf("the parts ran %d and %d times, want %d and %d", p.flights, p.hotels, tt.flights, tt.hotels)
				}
			})
		})
	}
}

func TestPartIsStoredUnderItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p trip
		w := newWorld(t, options{model: replies(calls("echo", `{"text":"a"}`, "trip", "{}"), text("ok")), tools: []tool.Tool{p.tool()}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		r := w.record(t, "C#"+receipt.RunID.String()+"#2#1#once#flight")
		if string(r.Payload) != `{"schema":1,"value":{"number":1}}` || r.Fence != 0 || r.Version != 0 {
			t.Errorf("the record is %s under fence %d at version %d", r.Payload, r.Fence, r.Version)
		}
	})
}

// Of two workers that run one call the second goes on with what the first has.
func TestLaterPartGivesWayToTheStoredOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p trip
		w := newWorld(t, options{model: replies(calls("trip", "{}"), text("ok")), tools: []tool.Tool{p.tool()}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		name := recordname.Part(receipt.RunID, 2, 0, "flight")
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if r.Name == name {
				other := store.Record{Name: name, Payload: []byte(`{"schema":1,"value":"theirs"}`)}
				if err := w.store.Backend.Put(ctx, key, other); err != nil {
					return err
				}
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		w.finish(t, key, nil)
		if got := w.log(t, key)[2]; got != `tool: "\"theirs\"{\"number\":1}"` || p.flights != 1 {
			t.Errorf("%s after %d flights", got, p.flights)
		}
	})
}

// What the store could not do is not the tool's failure, unless it never can.
func TestStoreThatFailsAPart(t *testing.T) {
	const name = "flight"
	tests := []struct {
		name    string
		put     error
		get     error
		flights int
		result  string
		log     int
	}{
		{"throttled while it is kept", store.ErrThrottled, nil, 1, `tool: "{\"number\":1}{\"number\":1}"`, 4},
		{"throttled while it is looked for", nil, store.ErrThrottled, 1, `tool: "{\"number\":1}{\"number\":1}"`, 4},
		{"too large", store.ErrTooLarge, nil, 1, `tool: execution failed: flight: keep part "flight": record is over the size limit`, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p trip
				w := newWorld(t, options{model: replies(calls("trip", "{}"), text("ok")), tools: []tool.Tool{p.tool()}})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				part := recordname.Part(receipt.RunID, 2, 0, name)
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if err := tt.put; r.Name == part && err != nil {
						tt.put = nil
						return err
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, n string) (store.Record, bool, error) {
					if err := tt.get; n == part && err != nil {
						tt.get = nil
						return store.Record{}, false, err
					}
					return w.store.Backend.Get(ctx, key, n)
				}
				w.finish(t, key, nil)
				if got := w.log(t, key); len(got) != tt.log || got[2] != tt.result || p.flights != tt.flights {
					t.Errorf("%q after %d flights, want %s after %d", got, p.flights, tt.result, tt.flights)
				}
			})
		})
	}
}

// A part gets the tries of a result: only a store that fails them all makes a finished
// part act again, since its value is known to nobody then.
func TestThrottledPartIsNotRepeated(t *testing.T) {
	tests := []struct {
		name       string
		puts, gets int // so many are throttled
		flights    int
	}{
		{"each try but the last one of a put", 6, 0, 1},
		{"each try of a put", 7, 0, 2},
		{"each try but the last one of a read", 0, 6, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p trip
				w := newWorld(t, options{model: replies(calls("trip", "{}"), text("ok")), tools: []tool.Tool{p.tool()}})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				part := recordname.Part(receipt.RunID, 2, 0, "flight")
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if r.Name == part && tt.puts > 0 {
						tt.puts--
						return store.ErrThrottled
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, n string) (store.Record, bool, error) {
					if n == part && tt.gets > 0 {
						tt.gets--
						return store.Record{}, false, store.ErrThrottled
					}
					return w.store.Backend.Get(ctx, key, n)
				}
				head := w.take(t, key)
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
				if err != nil || stepped.Retry != (tt.flights == 2) {
					t.Errorf("the step came to %+v, %v", stepped.Outcome, err)
				}
				w.finish(t, key, nil)
				if p.flights != tt.flights || p.hotels != 1 {
					t.Errorf("the parts ran %d and %d times, want %d and 1", p.flights, p.hotels, tt.flights)
				}
			})
		})
	}
}

// A tool that was left behind stores nothing: neither a part that it begins, nor
// one that it finishes.
func TestPartsOfAnAbandonedToolAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ran, errs := map[string]bool{}, map[string]string{}
		once := func(ctx context.Context, call tool.Call, name string, takes time.Duration) {
			_, err := call.Once(ctx, name, func(context.Context) (json.RawMessage, error) {
				mu.Lock()
				ran[name] = true
				mu.Unlock()
				time.Sleep(takes)
				return json.RawMessage("1"), nil
			})
			mu.Lock()
			defer mu.Unlock()
			errs[name] = fmt.Sprint(err)
		}
		late := timed{toolFunc{name: "late", run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			once(ctx, call, "before", 0)
			once(ctx, call, "meanwhile", 2*time.Second) // finished when the timeout is over, in the last 2 s
			once(ctx, call, "next", 0)                  // begun when its context is over
			return tool.NewResult("late"), nil
		}}, time.Second}
		later := timed{toolFunc{name: "later", run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			once(ctx, call, "across", 10*time.Second)    // finished too late
			once(context.Background(), call, "after", 0) // begun too late, whatever its context
			return tool.NewResult("later"), nil
		}}, time.Second}
		w := newWorld(t, options{model: replies(calls("late", "{}", "later", "{}"), text("ok")), tools: []tool.Tool{late, later}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		const over = "the call is over: nothing of it is stored any more"
		if diff := cmp.Diff(map[string]string{
			"before": "<nil>", "meanwhile": "<nil>", "next": `read part "next": context deadline exceeded`, "across": over, "after": over,
		}, errs); diff != "" {
			t.Errorf("what Once returned (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]bool{"before": true, "meanwhile": true, "across": true}, ran); diff != "" {
			t.Errorf("parts that ran (-want +got):\n%s", diff)
		}
		kept, err := w.store.Backend.Records(t.Context(), key, "C#", "", 10)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range kept {
			names = append(names, r.Name)
		}
		if diff := cmp.Diff([]string{recordname.Part(receipt.RunID, 2, 0, "before"), recordname.Part(receipt.RunID, 2, 0, "meanwhile")}, names); diff != "" {
			t.Errorf("stored parts (-want +got):\n%s", diff)
		}
		want := []string{"user: hi", "assistant: [late {}][later {}]", `tool: "late"`, "tool: timed out after 1s; whether it acted is not known", "assistant: ok"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
