package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// estimating is a store that says what its writes will cost: 7 units, and one more for each
// record.
type estimating struct{ *storetest.Faulty }

func (estimating) EstimateCommit(c store.Commit) core.Spent {
	return core.Spent{WriteMore: 7 + int64(len(c.Records))}
}

// metered is a world whose usage is kept.
func metered(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	var err error
	w.Service, err = mailbox.New(mailbox.Options{
		Env: env.System(), Store: estimating{w.store}, Waker: w.queue, Logger: slog.New(slog.DiscardHandler), KeepUsage: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// delivery is the context of a delivery that works on a thread, and its meter, which has
// counted 100 units that were read.
func delivery(t *testing.T, of core.ThreadKey) (context.Context, *store.Meter) {
	t.Helper()
	ctx := (&store.Meter{Key: of}).In(t.Context())
	meter := store.MeterOf(ctx)
	meter.Add(core.Spent{Read: 100})
	return ctx, meter
}

// What is done under a claim, or makes one, is charged with what was spent before it and,
// by estimate, with what it costs itself; what is done for others is not.
func TestWhatIsChargedToARun(t *testing.T) {
	claim := func(t *testing.T, w *world, ctx context.Context) {
		w.submit(t, input("one", ""))
		if _, claimed, err := w.Claim(ctx, hint, false); err != nil || !claimed {
			t.Fatal(claimed, err)
		}
	}
	held := func(t *testing.T, w *world, ctx context.Context, change thread.Change) {
		w.submit(t, input("one", ""))
		w.claim(t)
		if _, _, err := w.Commit(ctx, key, thread.Head{}, change, nil); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name  string
		of    core.ThreadKey // whom the meter is of
		do    func(t *testing.T, w *world, ctx context.Context)
		spent core.Spent
		left  int64 // units read that are not charged
	}{
		{"a claim", key, claim, core.Spent{Read: 100, WriteMore: 7}, 0},
		{"a claim of another thread", childKey, claim, core.Spent{}, 100},
		{"an inline run", key, func(t *testing.T, w *world, ctx context.Context) {
			if r, _, _, err := w.SubmitAndClaim(ctx, input("one", "")); err != nil || !r.Running {
				t.Fatal(r, err)
			}
		}, core.Spent{Read: 100, WriteMore: 9 + 1}, 0},
		{"a holder's write", key, func(t *testing.T, w *world, ctx context.Context) {
			held(t, w, ctx, thread.CommitStep{Fence: 1, Outcome: thread.Yield})
		}, core.Spent{Read: 100, WriteMore: 7, QueueMore: 100}, 0},
		{"a touch of the head", key, func(t *testing.T, w *world, ctx context.Context) { held(t, w, ctx, thread.Touch{}) }, core.Spent{}, 100},
		{"a submission", key, func(t *testing.T, w *world, ctx context.Context) {
			held(t, w, t.Context(), thread.Touch{})
			if _, err := w.Submit(ctx, input("two", mailbox.ModeSteer)); err != nil {
				t.Fatal(err)
			}
		}, core.Spent{}, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := metered(t)
				ctx, meter := delivery(t, tt.of)
				tt.do(t, w, ctx)
				if diff := cmp.Diff(tt.spent, w.head(t).Run.Stretch.Spent); diff != "" {
					t.Errorf("spent on the run (-want +got):\n%s", diff)
				}
				if got := meter.Drain(); got.Read != tt.left {
					t.Errorf("%d units are to be charged yet, want %d", got.Read, tt.left)
				}
			})
		})
	}
}

// A store that estimates nothing is charged when it has counted.
func TestAStoreThatDoesNotEstimate(t *testing.T) {
	w := newWorld(t)
	var err error
	w.Service, err = mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler), KeepUsage: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, _ := delivery(t, key)
	w.submit(t, input("one", ""))
	if _, claimed, err := w.Claim(ctx, hint, false); err != nil || !claimed {
		t.Fatal(claimed, err)
	}
	if diff := cmp.Diff(core.Spent{Read: 100}, w.head(t).Run.Stretch.Spent); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
}

// What was estimated is not charged again when it is counted.
func TestWhatWasEstimatedIsNotCountedAgain(t *testing.T) {
	w := metered(t)
	ctx, meter := delivery(t, key)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	if _, _, err := w.Commit(ctx, key, head, thread.CommitStep{Fence: 1, Outcome: thread.Yield}, nil); err != nil {
		t.Fatal(err)
	}
	meter.Add(core.Spent{Write: 10, Queue: 150})
	if diff := cmp.Diff(core.Spent{Write: 3, Queue: 50}, meter.Drain()); diff != "" {
		t.Errorf("to be charged (-want +got):\n%s", diff)
	}
}

// A write that is tried on two heads is charged once, with the estimate for the one that
// was written.
func TestAWriteThatLosesARaceIsChargedOnce(t *testing.T) {
	w := metered(t)
	ctx, meter := delivery(t, key)
	w.submit(t, input("one", ""))
	w.before(func() {
		w.hide(t)
		meter.Add(core.Spent{Read: 50}) // what the lost race has cost is charged by the next write
	})
	if _, claimed, err := w.Claim(ctx, hint, false); err != nil || !claimed {
		t.Fatal(claimed, err)
	}
	if diff := cmp.Diff(core.Spent{Read: 100, WriteMore: 7}, w.head(t).Run.Stretch.Spent); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
	meter.Add(core.Spent{Write: 7})
	if diff := cmp.Diff(core.Spent{Read: 50}, meter.Drain()); diff != "" {
		t.Errorf("to be charged (-want +got):\n%s", diff)
	}
}

// What was charged for a write that did not happen is charged with the next one.
func TestAWriteThatDidNotHappenIsNotCharged(t *testing.T) {
	tests := []struct {
		name    string
		arrange func(t *testing.T, w *world)
		fails   bool
	}{
		{"there is nothing to claim", func(t *testing.T, w *world) {
			w.submit(t, input("one", ""))
			w.claim(t)
		}, false},
		{"the store refuses it", func(t *testing.T, w *world) {
			w.submit(t, input("one", ""))
			w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				return store.Outcome{}, store.ErrCorrupt
			}
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := metered(t)
			tt.arrange(t, w)
			ctx, meter := delivery(t, key)
			if _, claimed, err := w.Claim(ctx, hint, false); claimed || (err != nil) != tt.fails {
				t.Fatal(claimed, err)
			}
			if diff := cmp.Diff(core.Spent{Read: 100}, meter.Drain()); diff != "" {
				t.Errorf("to be charged (-want +got):\n%s", diff)
			}
		})
	}
}

// A usage record goes to its hour, outside of the thread, and only with the write that ends
// a stretch; the record of wasted calls is the thread's, and its head says which is in force.
func TestWhereUsageRecordsGo(t *testing.T) {
	tests := []struct {
		name    string
		outcome thread.Outcome
		hour    int64
		wasted  bool
	}{
		{"the run is over", thread.Done, 262968, false},
		{"the run goes on", thread.Yield, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := metered(t)
				w.submit(t, input("one", ""))
				head := w.claim(t)
				time.Sleep(time.Hour)
				var sent store.Commit
				w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					sent = c
					return w.store.Backend.Commit(ctx, key, c)
				}
				_, _, err := w.Commit(t.Context(), key, head, thread.CommitStep{Fence: 1, Outcome: tt.outcome}, func(next thread.Head, _ thread.Result) ([]store.Record, error) {
					return []store.Record{
						{Name: recordname.Wasted(head.Run.ID, next.Version), Fence: 1, Payload: []byte(`{}`)},
						{Name: recordname.Usage(head.Run.ID, 0), Version: next.Version, Payload: []byte(`{}`)},
					}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(sent.Records) != 1 || !strings.Contains(sent.Records[0].Name, "#") || sent.Records[0].IsUsage() {
					t.Errorf("the thread gets %+v, want the wasted calls alone", sent.Records)
				}
				hour := int64(0)
				if sent.Usage != nil && sent.Usage.IsUsage() {
					hour = sent.Usage.Hour
				}
				if hour != tt.hour {
					t.Errorf("the usage goes to hour %d, want %d", hour, tt.hour)
				}
				if got := w.head(t).Run.Stretch.Wasted; (got == 3) != tt.wasted || got != 0 && !tt.wasted {
					t.Errorf("the wasted calls of version %d are in force", got)
				}
			})
		})
	}
}

// deletes deletes the thread and returns the usage record that goes with the tombstone; nil:
// none does.
func (w *world) deletes(t *testing.T) (*account.Record, error) {
	t.Helper()
	var sent *store.Usage
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		sent = c.Usage
		return w.store.Backend.Commit(ctx, key, c)
	}
	defer func() { w.store.OnCommit = nil }()
	err := w.Delete(t.Context(), key, "ann")
	if sent == nil || err != nil {
		return nil, err
	}
	if head := w.head(t); sent.Version != head.Version || sent.Fence != head.Fence {
		t.Errorf("the record is of version %d and fence %d, the tombstone of %d and %d", sent.Version, sent.Fence, head.Version, head.Fence)
	}
	if left := sent.Expires - time.Now().Unix(); left < 3540 || left > 3660 {
		t.Errorf("it is kept for %d s, want an hour", left)
	}
	r := new(account.Record)
	if err := json.Unmarshal(sent.Payload, r); err != nil {
		t.Fatal(err)
	}
	return r, nil
}

// What an open run has used is recorded when its thread is deleted, as far as it is
// committed; what cannot be read is said to be lost, and keeps nothing from being deleted.
func TestUsageOfARunThatIsDeleted(t *testing.T) {
	uses := func(tokens int) []core.ModelUse {
		return []core.ModelUse{{Model: "m", Usage: core.Usage{Input: tokens}, Inferences: 1}}
	}
	turn := func(run core.ID, tokens int) thread.Entry {
		e := by(run, core.RoleAssistant, "a", core.ToolCall{ID: "c0"})
		e.Totals = &thread.Totals{Metered: &thread.Metered{Models: uses(tokens)}}
		return e
	}
	result := func(run core.ID, status core.ResultStatus) thread.Entry {
		e := by(run, core.RoleTool, "r")
		e.Message.ToolResult, e.Duration = &core.ToolResult{CallID: "c0", Status: status}, 30
		return e
	}
	record := func(t *testing.T, w *world, head thread.Head) {
		w.ranAs(t, thread.RunRecord{Run: core.Run{ID: head.Run.ID, Dispatch: head.Run.Dispatch, AgentID: "other", Status: core.RunRunning}})
	}
	tests := []struct {
		name    string
		arrange func(t *testing.T, w *world, head thread.Head)
		want    account.Record
	}{
		{"before its first commit", func(*testing.T, *world, thread.Head) {}, account.Record{Agent: "demo"}},
		{"with a turn and results", func(t *testing.T, w *world, head thread.Head) {
			run := head.Run.ID
			record(t, w, head)
			w.writes(t, head, goOn, turn(run, 5), turn(run, 9), result(run, core.ResultOK), result(run, core.ResultError), thread.Entry{Run: run, Step: 1}, said(run, core.ID{3}, "steered"))
		}, account.Record{Agent: "other", Models: uses(9), Tools: 2, ToolTime: 60}},
		{"with another run's turn before it", func(t *testing.T, w *world, head thread.Head) {
			record(t, w, head)
			w.writes(t, head, goOn, turn(core.ID{7}, 5), said(head.Run.ID, head.Run.Dispatch, "one"))
		}, account.Record{Agent: "other"}},
		{"with a turn as far back as the calls of one allow", func(t *testing.T, w *world, head thread.Head) {
			run := head.Run.ID
			record(t, w, head)
			entries := []thread.Entry{said(run, head.Run.Dispatch, "one"), turn(run, 5)}
			for range 32 {
				entries = append(entries, result(run, core.ResultOK))
			}
			w.writes(t, head, goOn, entries...)
		}, account.Record{Agent: "other", Models: uses(5), Tools: 32, ToolTime: 960}},
		{"with a damaged record", func(t *testing.T, w *world, head thread.Head) {
			w.put(t, store.Record{Name: recordname.Run(head.Run.ID), Fence: 9, Version: 9, Payload: []byte("{")})
		}, account.Record{Agent: "demo"}},
		{"with damaged input", func(t *testing.T, w *world, head thread.Head) {
			w.store.OnRecord = func(op storetest.Operation, found store.Record) store.Record {
				if found.Name == recordname.Input(head.Run.Dispatch, 0) {
					found.Payload = []byte("{")
				}
				return found
			}
		}, account.Record{}},
		{"with a damaged log", func(t *testing.T, w *world, head thread.Head) {
			record(t, w, head)
			w.writes(t, head, goOn, turn(head.Run.ID, 5))
			w.store.OnRecord = func(op storetest.Operation, found store.Record) store.Record {
				if _, ok := found.LogSeq(); ok {
					found.Payload = []byte("{")
				}
				return found
			}
		}, account.Record{Agent: "other", Lost: true}},
		{"whose wasted calls are missing", func(t *testing.T, w *world, head thread.Head) {
			record(t, w, head)
			name := ""
			_, _, err := w.Commit(t.Context(), key, head, thread.CommitStep{Fence: 1, Outcome: thread.Yield}, func(next thread.Head, _ thread.Result) ([]store.Record, error) {
				name = recordname.Wasted(head.Run.ID, next.Version)
				return []store.Record{{Name: name, Fence: 1, Payload: []byte(`{}`)}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			w.loses(name)
		}, account.Record{Agent: "other", Lost: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := metered(t)
				w.submit(t, input("one", ""))
				head := w.claim(t)
				tt.arrange(t, w, head)
				time.Sleep(time.Minute)
				got, err := w.deletes(t)
				want := tt.want
				want.User, want.Run, want.Since, want.Until, want.End = "ann", head.Run.ID, 946684800000, 946684860000, "deleted"
				if diff := cmp.Diff(&want, got); diff != "" || err != nil || !w.head(t).Deleted {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
		})
	}
}

// A run that has come to an open round has used what the round's record says.
func TestUsageOfAnOpenRoundThatIsDeleted(t *testing.T) {
	down := errors.New("no connection")
	for name, lost := range map[string]bool{"its record is there": false, "its record is missing": true, "its record cannot be read now": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := metered(t)
				w.submit(t, input("one", ""))
				w.waits(t, w.claim(t), asks(0), asks(1))
				w.decide(t, deciding("s0", "d"))
				head := w.claim(t)
				w.ranAs(t, thread.RunRecord{
					Run: core.Run{ID: head.Run.ID, Dispatch: head.Run.Dispatch, AgentID: "other"}, Bases: []thread.Base{{Version: head.Run.Stretch.Behind, Used: &thread.Metered{Tools: 1}}},
				})
				var name string
				_, _, err := w.Commit(t.Context(), key, head, thread.CommitStep{Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq, Outcome: thread.Yield, Keep: true, Lease: 30_000, Round: true},
					func(next thread.Head, _ thread.Result) ([]store.Record, error) {
						name = recordname.Round(head.Run.ID, next.Version)
						return []store.Record{{Name: name, Fence: head.Claim.Fence, Version: next.Version, Payload: encoded(t, thread.RoundRecord{Totals: thread.Totals{Metered: &thread.Metered{Tools: 4}}})}}, nil
					})
				if err != nil || w.head(t).Run.Round == 0 {
					t.Fatal(err)
				}
				want := &account.Record{User: "ann", Agent: "other", Run: head.Run.ID, Stretch: 1, Since: 946684800000, Until: 946684800000, End: "deleted", Tools: 3}
				if lost {
					w.loses(name)
					want.Tools, want.Lost = 0, true
				}
				if name == "its record cannot be read now" {
					w.store.OnGet = func(ctx context.Context, key core.ThreadKey, asked string) (store.Record, bool, error) {
						if asked == recordname.Round(head.Run.ID, w.head(t).Run.Round) {
							return store.Record{}, false, down
						}
						return w.store.Backend.Get(ctx, key, asked)
					}
					if got, err := w.deletes(t); !errors.Is(err, down) || w.head(t).Deleted {
						t.Errorf("%+v, %v, deleted %v", got, err, w.head(t).Deleted)
					}
					return
				}
				got, err := w.deletes(t)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
		})
	}
}

// Where no stretch of a run is open there is nothing to record.
func TestNoUsageIsRecordedWithoutAnOpenStretch(t *testing.T) {
	for name, arrange := range map[string]func(t *testing.T, w *world){
		"a queued run":       func(*testing.T, *world) {},
		"a run that waits":   func(t *testing.T, w *world) { w.waits(t, w.claim(t), asks(0)) },
		"a run that is over": func(t *testing.T, w *world) { w.end(t, w.claim(t)) },
	} {
		w := metered(t)
		w.submit(t, input("one", ""))
		arrange(t, w)
		if got, err := w.deletes(t); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A store that fails keeps the thread from being deleted: what was used would be lost.
func TestAThreadIsNotDeletedWhoseUsageCannotBeReadNow(t *testing.T) {
	down := core.Errorf(core.CodeInvalid, "no connection")
	for reads := 1; ; reads++ {
		w := metered(t)
		w.submit(t, input("one", ""))
		head := w.claim(t)
		head = w.writes(t, head, goOn, thread.Entry{Run: head.Run.ID, Step: 1, Message: &core.Message{ID: "a", Role: core.RoleAssistant}})
		_, _, err := w.Commit(t.Context(), key, head, thread.CommitStep{Fence: 1, From: 1, Seq: 1, Outcome: thread.Yield, Keep: true, Lease: 30_000}, func(next thread.Head, _ thread.Result) ([]store.Record, error) {
			return []store.Record{{Name: recordname.Wasted(head.Run.ID, next.Version), Fence: 1, Payload: []byte(`{"schema":1}`)}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		left := reads
		w.reading(func() error {
			if left--; left == 0 {
				return down
			}
			return nil
		})
		got, err := w.deletes(t)
		if left > 0 {
			if reads != 6 || got == nil || err != nil {
				t.Errorf("after %d reads: %+v, %v; want 5: head, run, input, wasted calls, log", reads-1, got, err)
			}
			return
		}
		if h := w.head(t); !errors.Is(err, down) || h.Deleted {
			t.Errorf("read %d fails: %v, deleted %v", reads, err, h.Deleted)
		}
	}
}
