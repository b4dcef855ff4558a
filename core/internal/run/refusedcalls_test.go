package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A call that cannot run says why: the final answer of an agent that has one is no tool, and
// arguments that were refused once run nothing.
func TestWhyACallCannotRun(t *testing.T) {
	const alone = "invalid: final_answer is called alone, behind the results of all other calls"
	schema := &model.ResponseFormat{Name: "answer", Schema: []byte(`{"type":"object"}`)}
	tests := []struct {
		name   string
		format *model.ResponseFormat
		call   string
		want   string
	}{
		{"the final answer", schema, finalanswer.Tool, alone},
		{"a tool that is not there", schema, "none", `invalid: tool "none" not found`},
		{"the final answer of an agent that has none", nil, finalanswer.Tool, `invalid: tool "final_answer" not found`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{agents: spec(t, replies(calls(tt.call, "{}", tt.call, "{}"), text(`{}`)), agent.Spec{ResponseFormat: tt.format})})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				if diff := cmp.Diff([]string{tt.want, tt.want}, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Arguments that were refused once are, though the tool takes them when it is asked again.
func TestACheckThatChangesItsMind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checked := 0
		moody := checkFunc{toolFunc{name: "moody", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.NewResult("ran"), nil }}, func() error {
			if checked++; checked == 1 {
				return errors.New("not these")
			}
			return nil
		}}
		w := newWorld(t, options{model: replies(calls("moody", "{}"), text("ok")), tools: []tool.Tool{moody}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]core.ResultStatus{core.ResultInvalid}, w.statuses(t)); diff != "" {
			t.Errorf("statuses (-want +got):\n%s", diff)
		}
	})
}

// A tool that changes the state of another revision than it was shown is told of both.
func TestAChangeForAnotherRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sets := toolFunc{name: "sets", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			command := appended.Update("a")
			if c.Index == 1 {
				command.Batch.Base = new(uint64(7))
			}
			return tool.NewResult("set").With(command), nil
		}}
		w := newWorld(t, options{
			model: replies(calls("sets", "{}", "sets", "{}"), text("ok")), tools: []tool.Tool{sets},
			plugins: []plugin.Plugin{pluginFunc{"keys", func(r *plugin.Registrar) { r.Key(appended) }}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{`ok: "set"`, "error: execution failed: the batch is for revision 7, the state is at revision 1"}
		if diff := cmp.Diff(want, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A call's key ends with its index, in the usual digits.
func TestKeysOfManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		notes := toolFunc{name: "notes", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			keys = append(keys, c.Key())
			return tool.NewResult("ok"), nil
		}}
		var turn []string
		for range 12 {
			turn = append(turn, "notes", "{}")
		}
		w := newWorld(t, options{model: replies(calls(turn...), text("ok")), tools: []tool.Tool{notes}})
		id := w.submit(t, key, "hi", mailbox.ModeQueue).RunID.String()
		w.finish(t, key, nil)
		want := []string{"/2/0", "/2/1", "/2/2", "/2/3", "/2/4", "/2/5", "/2/6", "/2/7", "/2/8", "/2/9", "/2/10", "/2/11"}
		for i := range want {
			want[i] = id + want[i]
		}
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	})
}

// What stands at a result's place and cannot be read is no result: the call runs.
func TestADamagedRecordAtAResultsPlaceIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(calls("nap", "{}"), text("ok")), tools: []tool.Tool{nap}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.cut(t, time.Second, false)
		head := w.head(t, key)
		if err := w.store.Put(t.Context(), key, store.Record{Name: store.LogName(head.Run.Base), Fence: head.Fence, Payload: []byte("\x00")}); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{`ok: "rested"`}, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A call that asks under the suspension id of one that the head already has is refused, and
// the decision about that id means the other.
func TestASuspensionThatTheHeadHasIsNotAskedForTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := toolFunc{name: "late", run: func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(3 * time.Second)
			return tool.Suspended(core.TicketRequest{ID: "gate0"}), nil
		}}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("ask", "{}", "late", "{}"), text("ok")),
			tools: []tool.Tool{late, toolFunc{name: "ask", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.NewResult("asked"), nil }}}, plugins: []plugin.Plugin{asking("ask")},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		w.mustDecide(t, 0, approve)
		w.finish(t, key, nil)
		want := []string{
			`ok: "asked" after about-gate0`,
			`error: execution failed: another call waits under the suspension id "gate0", which must be its own: left empty, one is made`,
		}
		if diff := cmp.Diff(want, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A deadline counts from when the call came to wait, however short it is.
func TestTheShortestTimeoutIsADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
			v := suspends("ask")
			v.Suspend.Timeout = 1
			return v, nil
		})}})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.step(t, key)
		if tickets := w.head(t, key).Tickets; len(tickets) != 1 || tickets[0].Deadline != time.Now().UnixMilli() {
			t.Errorf("tickets %+v, want one whose time is over", tickets)
		}
	})
}

// From 64 KiB on the record of a ticket is stored before the write that puts it in force.
func TestWhichTicketsAreStoredBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		length := 0
		w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
			v := suspends("ask")
			v.Suspend.Message = strings.Repeat("x", length)
			return v, nil
		})}})
		puts := 0
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			puts++
			return w.store.Backend.Put(ctx, key, r)
		}
		var got []string
		size := func() int {
			receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
			puts = 0
			w.step(t, key)
			head := w.head(t, key)
			r := w.record(t, recordname.Suspension(head.Run.ID, head.Run.Base-1, 0, head.Tickets[0].ID))
			if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
				t.Fatal(err)
			}
			w.finish(t, key, nil)
			got = append(got, fmt.Sprint(len(r.Payload), " ", puts))
			return len(r.Payload)
		}
		length = 1000
		more := size() - 1000
		for _, payload := range []int{64<<10 - 1, 64 << 10} {
			length = payload - more
			size()
		}
		if diff := cmp.Diff([]string{"65535 0", "65536 1"}, got[1:]); diff != "" {
			t.Errorf("sizes and puts (-want +got):\n%s", diff)
		}
	})
}

// A tool that has only asked, and whose question the store does not take, has not acted.
func TestACallWhoseQuestionIsNotStoredHasNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := toolFunc{name: "asks", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{Message: strings.Repeat("x", 70_000)}), nil
		}}
		w := newWorld(t, options{model: replies(calls("asks", "{}")), tools: []tool.Tool{asks}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.store.OnPut = func(context.Context, core.ThreadKey, store.Record) error { return store.ErrThrottled }
		w.step(t, key)
		w.store.OnPut = nil
		if through := w.head(t, key).Run.Through; through != (thread.Through{}) {
			t.Errorf("calls that may have been let through: %+v", through)
		}
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"not_executed: no result: the run was ended first (cancelled)"}, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// silent are Choices under which nothing is done to others.
type silent struct{ *chosen }

func (silent) Acts() bool { return false }

// The effects of a run that only happens again do not.
func TestEffectsOfARunThatActsOnNobody(t *testing.T) {
	for _, acts := range []bool{true, false} {
		t.Run(fmt.Sprint(acts), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				o := options{
					model: replies(calls("tells", "{}"), text("ok")),
					tools: []tool.Tool{toolFunc{name: "tells", run: func(context.Context, tool.Call) (tool.Result, error) {
						return tool.NewResult("ok").With(effected.Emit("x")), nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"tells", func(r *plugin.Registrar) {
						effected.Handle(r, func(context.Context, plugin.HandlerContext, string) error {
							told++
							return nil
						})
					}}},
				}
				if !acts {
					o.choices = silent{&chosen{}}
				}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if want := map[bool]int{true: 1, false: 0}[acts]; told != want {
					t.Errorf("%d effects have run, want %d", told, want)
				}
			})
		})
	}
}
