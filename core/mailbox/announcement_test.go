package mailbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// hearing is a telling world and what it has announced.
func hearing(t *testing.T, log *bytes.Buffer) (w *world, heard *[]mailbox.Announcement) {
	t.Helper()
	heard = new([]mailbox.Announcement)
	return telling(t, publish(func(a mailbox.Announcement) error {
		*heard = append(*heard, a)
		return nil
	}), log), heard
}

// What is said of a run is what its record says, and when it happened; how it ended, without
// the detail; what it waits for.
func TestWhatAnAnnouncementSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, heard := hearing(t, new(bytes.Buffer))
		r := w.submit(t, input("one", ""))
		used := core.Usage{Input: 7, Output: 2}
		time.Sleep(time.Second)
		head := w.waits(t, w.claim(t), asks(0, func(k *core.Ticket) { k.Deadline = 946690000000 }))
		w.ranAs(t, thread.RunRecord{Run: core.Run{ID: r.RunID, AgentID: "other", Steps: 3, Usage: used, Status: core.RunWaiting}})
		w.tellAll(t)
		w.decide(t, deciding("c0", "d"))
		w.end(t, w.goesOn(t))
		end := core.Termination{Type: core.TerminationError, Code: "model", Detail: "it said so"}
		w.put(t, store.Record{Name: recordname.Run(r.RunID), Fence: 9, Version: 10, Payload: encoded(t, thread.RunRecord{
			Run: core.Run{ID: r.RunID, AgentID: "other", Steps: 4, Usage: used, Status: core.RunDone, Termination: &end, FinishedAt: 946684805000},
		})})
		w.tellAll(t)
		want := []mailbox.Announcement{
			{
				ID: head.CommitID.String() + ".waiting", Type: mailbox.RunWaiting, At: time.Date(2000, 1, 1, 0, 0, 1, 0, time.UTC),
				Tenant: "t", User: "ann", ThreadID: "t1", RunID: r.RunID, AgentID: "other", Steps: 3, Usage: used,
				Tickets: []mailbox.AnnouncedTicket{{SuspensionID: "s0", CallID: "c0", Tool: "ask", Action: "tool:ask", Kind: core.TicketPerson, Deadline: 946690000000}},
			},
			{
				ID: r.RunID.String() + ".ended", Type: mailbox.RunEnded, At: time.Date(2000, 1, 1, 0, 0, 5, 0, time.UTC),
				Tenant: "t", User: "ann", ThreadID: "t1", RunID: r.RunID, AgentID: "other", Steps: 4, Usage: used,
				Termination: &core.Termination{Type: core.TerminationError, Code: "model"},
			},
		}
		if diff := cmp.Diff(want, *heard); diff != "" {
			t.Errorf("announced (-want +got):\n%s", diff)
		}
		b, err := json.Marshal((*heard)[1])
		if got := strings.ReplaceAll(string(b), r.RunID.String(), "<run>"); err != nil || got != `{"id":"<run>.ended","type":"run.ended","timestamp":"2000-01-01T00:00:05Z","data":{`+
			`"tenant":"t","user":"ann","thread_id":"t1","run_id":"<run>","agent_id":"other","steps":4,"usage":{"input":7,"output":2},"termination":{"type":"error","code":"model"}}}` {
			t.Errorf("encoded: %s, %v", got, err)
		}
	})
}

// When it happened is known of a run that is given up, of one that was deleted, and of one
// that no step has opened, too.
func TestWhenWhatIsAnnouncedHappened(t *testing.T) {
	tests := []struct {
		name string
		ends func(t *testing.T, w *world, r mailbox.Receipt)
		id   string
		want core.Termination
		at   time.Duration
	}{
		{"given up", func(t *testing.T, w *world, _ mailbox.Receipt) {
			for range 5 {
				w.claimAlone(t)
				w.commit(t, thread.Reclaim{})
			}
			time.Sleep(time.Second)
			w.claimAlone(t)
		}, ".dead-lettered", core.Termination{Type: core.TerminationError, Code: "dead_letter"}, time.Second},
		{"deleted", func(t *testing.T, w *world, _ mailbox.Receipt) {
			time.Sleep(2 * time.Second)
			w.delete(t)
		}, ".ended", core.Termination{Type: core.TerminationCancelled, Code: "deleted"}, 2 * time.Second},
		{"cancelled in the queue", func(t *testing.T, w *world, r mailbox.Receipt) {
			time.Sleep(3 * time.Second)
			w.commit(t, thread.Cancel{Run: r.RunID})
		}, ".ended", core.Termination{Type: core.TerminationCancelled}, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, heard := hearing(t, new(bytes.Buffer))
				r := w.submit(t, input("one", ""))
				tt.ends(t, w, r)
				time.Sleep(time.Minute)
				w.tellAll(t)
				if len(*heard) != 1 {
					t.Fatalf("announced %+v, want one", *heard)
				}
				a := (*heard)[0]
				if diff := cmp.Diff(&tt.want, a.Termination); diff != "" || a.ID != r.RunID.String()+tt.id || a.At.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) != tt.at {
					t.Errorf("%s at %s; termination (-want +got):\n%s", a.ID, a.At, diff)
				}
			})
		})
	}
}

// claimAlone takes the thread, be it a suspect.
func (w *world) claimAlone(t *testing.T) {
	t.Helper()
	if _, claimed, err := w.Claim(t.Context(), hint, true); err != nil || !claimed {
		t.Fatalf("claim: %v, %v", claimed, err)
	}
}

// The outbox has no room for all announcements. The oldest one that is left says how many
// were dropped before it, and no other one does.
func TestDroppedAnnouncementsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, heard := hearing(t, new(bytes.Buffer))
		for range 6 {
			r := w.submit(t, input("one", ""))
			w.commit(t, thread.Cancel{Run: r.RunID})
		}
		head := w.tellAll(t)
		var missed []int
		for _, a := range *heard {
			missed = append(missed, a.Missed)
		}
		if diff := cmp.Diff([]int{2, 0, 0, 0}, missed); diff != "" || head.Missed != 0 {
			t.Errorf("the head has missed %d; said (-want +got):\n%s", head.Missed, diff)
		}
	})
}

// A round in the mode batch approval waits until all its tickets are decided. When one is
// decided, the announcement names the tickets that are left. If only child runs and timers
// are waited for, nothing is announced.
func TestAWaitIsAnnouncedWithWhatIsLeftOfIt(t *testing.T) {
	child := asks(1, func(k *core.Ticket) { k.Suspension.ID, k.Kind = core.ID{7}.String(), core.TicketChild })
	timer := asks(1, func(k *core.Ticket) { k.Kind, k.WakeAt = core.TicketTimer, 946690000000 })
	tests := []struct {
		name    string
		tickets []core.Ticket
		want    []string
	}{
		{"another person's", []core.Ticket{asks(0), asks(1)}, []string{"run.waiting demo s1/c1"}},
		{"a child's", []core.Ticket{asks(0), child}, nil},
		{"a timer", []core.Ticket{asks(0), timer}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, lines := listening(t)
				w.submit(t, input("one", ""))
				w.suspend(t, w.calls(t, w.claim(t), true, tt.tickets...), thread.Wait, tt.tickets...)
				w.decide(t, deciding("s0", "d"))
				if head := w.tellAll(t); head.Run.Status != thread.Waiting {
					t.Errorf("the run is %s", head.Run.Status)
				}
				if diff := cmp.Diff(tt.want, *lines); diff != "" {
					t.Errorf("announced (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A damaged record is left out of the announcement. A record that the store cannot return
// now delays the announcement.
func TestAnnouncementOfWhatCannotBeRead(t *testing.T) {
	down := errors.New("no connection")
	waits := func(t *testing.T, w *world) (ticket string) {
		head := w.waits(t, w.claim(t), asks(0))
		return recordname.Suspension(head.Run.ID, 1, 0, thread.TicketKey(head.Run.ID, "s0"))
	}
	tests := []struct {
		name    string
		arrange func(t *testing.T, w *world)
		want    []string // nil: it is tried again
	}{
		{"a run that waits, and its record is damaged", func(t *testing.T, w *world) {
			waits(t, w)
			w.put(t, store.Record{Name: recordname.Run(w.last.RunID), Fence: 9, Version: 9, Payload: []byte("{")})
		}, []string{"run.waiting  s0/c0"}},
		{"a run that is over, and its record is damaged", func(t *testing.T, w *world) {
			w.end(t, w.claim(t))
			w.put(t, store.Record{Name: recordname.Run(w.last.RunID), Fence: 9, Version: 9, Payload: []byte("{")})
		}, []string{"run.ended  error corrupt"}},
		{"a run that is over, and its record does not say how", func(t *testing.T, w *world) {
			w.end(t, w.claim(t))
			w.ranAs(t, thread.RunRecord{Run: core.Run{ID: w.last.RunID, AgentID: "other", Status: core.RunRunning}})
		}, []string{"run.ended other"}},
		{"a run that is over, and its record cannot be read now", func(t *testing.T, w *world) {
			w.end(t, w.claim(t))
			w.failing(recordname.Run(w.last.RunID), down)
		}, nil},
		{"a ticket that cannot be read now", func(t *testing.T, w *world) { w.failing(waits(t, w), down) }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, lines := listening(t)
				w.last = w.submit(t, input("one", ""))
				tt.arrange(t, w)
				if err := w.Deliver(t.Context(), key, w.head(t), atFirst); err != nil {
					t.Fatal(err)
				}

				if diff := cmp.Diff(tt.want, *lines); diff != "" {
					t.Errorf("announced (-want +got):\n%s", diff)
				}
				head := w.head(t)
				if tt.want != nil && len(head.Outbox) != 0 || tt.want == nil && (len(head.Outbox) != 1 || head.Outbox[0].Tries != 1 || head.Outbox[0].Next <= time.Now().UnixMilli()) {
					t.Errorf("the thread owes %+v", head.Outbox)
				}
			})
		})
	}
}

// keeps is a publisher that keeps its context.
type keeps struct{ ctx *context.Context }

func (k keeps) Publish(ctx context.Context, _ mailbox.Announcement) error {
	*k.ctx = ctx
	return ctx.Err()
}

// A publisher's context ends when the publisher returns. Goroutines that it started and did
// not wait for then end as well.
func TestTheTimeOfAPublisherEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ctx context.Context
		w := telling(t, keeps{&ctx}, new(bytes.Buffer))
		w.submit(t, input("one", ""))
		w.end(t, w.claim(t))
		w.tellAll(t)
		if ctx.Err() == nil {
			t.Error("its context goes on")
		}
	})
}
