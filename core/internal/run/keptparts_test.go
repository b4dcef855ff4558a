package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// What a tool keeps past its own checks must be JSON: nothing is stored of what is not.
func TestAPartThatIsNotJSONIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := ""
		keeps := toolFunc{name: "keeps", run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			value, err := call.Parts.Keep(ctx, "part", json.RawMessage("{"))
			got = fmt.Sprintf("%q %v", value, err)
			return tool.NewResult("kept"), nil
		}}
		w := newWorld(t, options{model: replies(calls("keeps", "{}"), text("ok")), tools: []tool.Tool{keeps}})
		var puts []string
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			puts = append(puts, r.Name)
			return w.store.Backend.Put(ctx, key, r)
		}
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		const want = `"" encode part: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input`
		if got != want || len(puts) > 0 {
			t.Errorf("the tool got %s\nwant %s; stored are %q", got, want, puts)
		}
		if diff := cmp.Diff([]string{`ok: "kept"`}, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A part that the store fails stays its failure when another part is kept meanwhile. What a
// part comes to when the tool's own time is over is the tool's.
func TestWhoseFailureAPartIs(t *testing.T) {
	part := func(ctx context.Context, call tool.Call, name string) error {
		_, err := call.Once(ctx, name, func(context.Context) (json.RawMessage, error) { return json.RawMessage("1"), nil })
		return err
	}
	tests := []struct {
		name string
		run  func(ctx context.Context, call tool.Call) error
		want string
		ran  int
	}{
		{"another part is kept behind it", func(ctx context.Context, call tool.Call) error {
			err := part(ctx, call, "first")
			if other := part(ctx, call, "other"); other != nil {
				return other
			}
			return err
		}, `ok: "done"`, 2},
		{"the tool does without it", func(ctx context.Context, call tool.Call) error {
			if err := part(ctx, call, "first"); err == nil {
				return errors.New("the part is there")
			}
			return nil
		}, `ok: "done"`, 1},
		{"a time that the tool has set itself is over", func(ctx context.Context, call tool.Call) error {
			within, cancel := context.WithCancel(ctx)
			cancel()
			return part(within, call, "other")
		}, `error: execution failed: read part "other": context canceled`, 1},
		{"the tool's time is over", func(ctx context.Context, call tool.Call) error {
			<-ctx.Done()
			return part(ctx, call, "other")
		}, "error: execution timed out after 1m0s", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran, failed := 0, 0
				works := timed{toolFunc{name: "works", run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
					ran++
					if err := tt.run(ctx, call); err != nil {
						return tool.Result{}, err
					}
					return tool.NewResult("done"), nil
				}}, time.Minute}
				w := newWorld(t, options{model: replies(calls("works", "{}"), text("ok")), tools: []tool.Tool{works}})
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
					if strings.HasSuffix(name, "#once#first") && ran == 1 {
						failed++
						return store.Record{}, false, core.Errorf(core.CodeUnavailable, "the disk is away")
					}
					return w.store.Backend.Get(ctx, key, name)
				}
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{tt.want}, w.results(t)); diff != "" || ran != tt.ran {
					t.Errorf("after %d runs and %d failures, results (-want +got):\n%s", ran, failed, diff)
				}
			})
		})
	}
}
