package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// childrenFunc starts child runs.
type childrenFunc func(ctx context.Context, call tool.Call, child tool.Child) (core.ID, error)

func (f childrenFunc) StartChild(ctx context.Context, call tool.Call, child tool.Child, _ func(context.Context, core.ID) error) (core.ID, error) {
	return f(ctx, call, child)
}

// A tool that was left behind gets nothing any more of the host's: neither where it asks
// afterwards, nor where it asked before and is answered then.
func TestWhatAToolThatWasLeftBehindAsksForIsRefused(t *testing.T) {
	part := func(ctx context.Context, call tool.Call) string {
		value, ok, err := call.Parts.Part(ctx, "kept")
		return fmt.Sprintf("%s %t %v", value, ok, err)
	}
	keep := func(ctx context.Context, call tool.Call) string {
		value, err := call.Parts.Keep(ctx, "kept", json.RawMessage("2"))
		return fmt.Sprintf("%s %v", value, err)
	}
	child := func(ctx context.Context, call tool.Call) string {
		id, err := call.Children.StartChild(ctx, call, tool.Child{})
		return fmt.Sprintf("%t %v", id == core.ID{}, err)
	}
	const over = "the call is over: nothing of it is stored any more"
	tests := []struct {
		name   string
		asks   func(context.Context, tool.Call) string
		across bool // it asks while it is waited for
		asked  int  // operations of the store on parts, and children
		want   string
	}{
		{"a part, afterwards", part, false, 1, " false " + over},
		{"a part, before", part, true, 2, " false " + over},
		{"to keep a part, afterwards", keep, false, 1, " " + over},
		{"to keep a part, before", keep, true, 2, " " + over},
		{"for a child, afterwards", child, false, 1, "true " + over},
		{"for a child, before", child, true, 2, "true " + over},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, got := 0, ""
				slow := func() {
					if asked++; asked > 1 {
						time.Sleep(10 * time.Second)
					}
				}
				late := timed{toolFunc{name: "late", run: func(_ context.Context, call tool.Call) (tool.Result, error) {
					free := context.Background()
					if _, err := call.Parts.Keep(free, "kept", json.RawMessage("1")); err != nil {
						t.Error(err)
					}
					if !tt.across {
						time.Sleep(10 * time.Second)
					}
					got = tt.asks(free, call)
					return tool.NewResult("late"), nil
				}}, time.Second}
				w := newWorld(t, options{
					model: replies(calls("late", "{}"), text("ok")), tools: []tool.Tool{late},
					children: childrenFunc(func(context.Context, tool.Call, tool.Child) (core.ID, error) {
						slow()
						return core.ID{1}, nil
					}),
				})
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if strings.Contains(r.Name, "#once#") {
						slow()
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
					if strings.Contains(name, "#once#") {
						slow()
					}
					return w.store.Backend.Get(ctx, key, name)
				}
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if got != tt.want || asked != tt.asked || w.stepper.Abandoned() != 0 {
					t.Errorf("the tool got %q after %d operations, want %q after %d; %d tools are left behind", got, asked, tt.want, tt.asked, w.stepper.Abandoned())
				}
				if diff := cmp.Diff([]string{"unknown: timed out after 1s; whether it acted is not known"}, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A part that another worker has stored is looked for: a store that has nothing to show is
// damaged, and one that fails is asked again by the next try of the call.
func TestAPartThatStandsAndCannotBeRead(t *testing.T) {
	down := core.Errorf(core.CodeUnavailable, "the disk is away")
	tests := []struct {
		name   string
		fails  error // what the reads behind the conflict come to; nil: they find nothing
		end    string
		result []string
	}{
		{"it is not there", nil, `done 1 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""`, []string{"unknown: outcome unknown: the run was ended while the tool may have run"}},
		{"the store fails", down, `done 2 {"type":"natural_end"} "ok"`, []string{`ok: "\"theirs\"{\"number\":1}"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p trip
				w := newWorld(t, options{model: replies(calls("trip", "{}"), text("ok")), tools: []tool.Tool{p.tool()}})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				name, reads := recordname.Part(receipt.RunID, 2, 0, "flight"), 0
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if r.Name == name {
						r.Payload = []byte(`{"schema":1,"value":"theirs"}`)
						if err := w.store.Backend.Put(ctx, key, r); err != nil {
							return err
						}
						return store.ErrConflict
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, n string) (store.Record, bool, error) {
					if n == name {
						if reads++; tt.fails == nil || reads > 1 && reads < 9 { // all tries behind the conflict
							return store.Record{}, false, tt.fails
						}
					}
					return w.store.Backend.Get(ctx, key, n)
				}
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
				if diff := cmp.Diff(tt.result, w.results(t)); diff != "" || p.flights != 1 {
					t.Errorf("after %d flights, results (-want +got):\n%s", p.flights, diff)
				}
			})
		})
	}
}

// What a host says of a child that it could not start now is not the tool's failure, and the
// call is tried again; whatever else it says is.
func TestAChildThatCannotBeStarted(t *testing.T) {
	tests := []struct {
		code  core.Code
		asked int
		want  string
	}{
		{core.CodeThrottled, 2, `ok: "started"`},
		{core.CodeUnavailable, 2, `ok: "started"`},
		{core.CodeInternal, 2, `ok: "started"`},
		{core.CodeSchema, 2, `ok: "started"`}, // a newer program's: it reads it
		{core.CodeInvalid, 1, "error: execution failed: not now"},
		{core.CodeDenied, 1, "error: execution failed: not now"},
	}
	for _, tt := range tests {
		t.Run(string(tt.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				w := newWorld(t, options{
					model: replies(calls("starts", "{}"), text("ok")),
					tools: []tool.Tool{toolFunc{name: "starts", run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
						id, err := call.Start(ctx, tool.Child{Agent: "demo"})
						if err != nil {
							return tool.Result{}, err
						}
						if id != (core.ID{1}) {
							t.Errorf("the child is %s", id)
						}
						return tool.NewResult("started"), nil
					}}},
					children: childrenFunc(func(context.Context, tool.Call, tool.Child) (core.ID, error) {
						if asked++; asked == 1 {
							return core.ID{}, core.Errorf(tt.code, "not now")
						}
						return core.ID{1}, nil
					}),
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{tt.want}, w.results(t)); diff != "" || asked != tt.asked {
					t.Errorf("after %d tries, results (-want +got):\n%s", asked, diff)
				}
			})
		})
	}
}
