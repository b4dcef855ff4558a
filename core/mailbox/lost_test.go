package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// hide writes on top of what was written last.
func (w *world) hide(t *testing.T) { w.commit(t, thread.Touch{}) }

// closes makes the holder end its cancelled run, with the record of its end.
func (w *world) closes(t *testing.T, head thread.Head, r mailbox.Receipt) {
	t.Helper()
	w.commit(t, thread.CommitClose{Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq})
	w.recordEnd(t, r, *thread.ReasonCancelled.Termination(), 9)
}

// drops takes the next write for sent, and neither applies nor answers it.
func (w *world) drops(happens func()) {
	w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		happens()
		return store.Outcome{}, errors.New("connection reset by peer")
	}
}

func TestACancelByThreadWhoseResponseIsLostEndsOneRun(t *testing.T) {
	t.Run("the open run, which is closed meanwhile", func(t *testing.T) {
		w := newWorld(t)
		one, two := w.submit(t, input("one", "")), w.submit(t, input("two", ""))
		head := w.claim(t)
		w.lose(t, func(thread.Head) {
			w.closes(t, head, one)
			w.claim(t)
		})
		ended, err := w.Cancel(t.Context(), key, core.ID{})
		if err != nil || ended != one.RunID {
			t.Errorf("cancel: %s, %v; want %s", ended, err, one.RunID)
		}
		if got := w.status(t, two); got != "running" {
			t.Errorf("the next run is %q", got)
		}
	})
	t.Run("a queued run", func(t *testing.T) {
		w := newWorld(t)
		one, two := w.submit(t, input("one", "")), w.submit(t, input("two", ""))
		w.lose(t, func(thread.Head) { w.hide(t) })
		ended, err := w.Cancel(t.Context(), key, core.ID{})
		if err != nil || ended != one.RunID {
			t.Errorf("cancel: %s, %v; want %s", ended, err, one.RunID)
		}
		if got, next := w.status(t, one), w.status(t, two); got != "done cancelled" || next != "created" {
			t.Errorf("the first run is %q, the next one %q", got, next)
		}
	})
	t.Run("a run that has ended by itself", func(t *testing.T) {
		w := newWorld(t)
		one, two := w.submit(t, input("one", "")), w.submit(t, input("two", ""))
		head := w.claim(t)
		w.drops(func() {
			w.end(t, head)
			w.recordEnd(t, one, core.Termination{Type: core.TerminationNatural}, 9)
		})
		if _, err := w.Cancel(t.Context(), key, core.ID{}); !errors.Is(err, thread.ErrNotFound) {
			t.Errorf("cancel: %v, want not found", err)
		}
		if got := w.status(t, two); got != "created" {
			t.Errorf("the next run is %q", got)
		}
	})
	t.Run("a run that others end before the write", func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		two := w.submit(t, input("two", ""))
		head := w.claim(t)
		w.before(func() { w.end(t, head) })
		if _, err := w.Cancel(t.Context(), key, core.ID{}); !errors.Is(err, thread.ErrNotFound) {
			t.Errorf("cancel: %v, want not found", err)
		}
		if got := w.status(t, two); got != "created" {
			t.Errorf("the next run is %q", got)
		}
	})
}

func TestACancelThatWasAppliedIsNotNotFound(t *testing.T) {
	w := newWorld(t)
	one := w.submit(t, input("one", ""))
	head := w.claim(t)
	w.queue.Clear()
	w.lose(t, func(thread.Head) { w.closes(t, head, one) })
	if ended, err := w.Cancel(t.Context(), key, one.RunID); err != nil || ended != one.RunID {
		t.Errorf("cancel: %s, %v", ended, err)
	}
	if _, err := w.Cancel(t.Context(), key, one.RunID); !errors.Is(err, thread.ErrNotFound) {
		t.Errorf("another cancel: %v, want not found", err)
	}
}

// The hint of a write goes out when it is known that it was applied, whoever hides it.
func TestACancelThatIsHiddenStillHints(t *testing.T) {
	w, _ := waiting(t, asks(0))
	w.queue.Clear()
	w.lose(t, func(thread.Head) {
		w.hide(t)
		w.queue.Clear()
	})
	if _, err := w.Cancel(t.Context(), key, core.ID{}); err != nil {
		t.Error(err)
	}
	if got := w.queue.Lines(); len(got) != 1 || got[0] != "t1 0s" {
		t.Errorf("hints %q, want one at once", got)
	}
}

func TestARetractionWhoseResponseIsLostIsDone(t *testing.T) {
	steered := func(t *testing.T) (*world, thread.Head, mailbox.Receipt) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		head := w.claim(t)
		return w, head, w.submit(t, input("two", mailbox.ModeSteer))
	}
	t.Run("an entry of the inbox", func(t *testing.T) {
		w, head, two := steered(t)
		w.ranAs(t, thread.RunRecord{Run: core.Run{ID: head.Run.ID, Dispatch: head.Run.Dispatch}})
		w.lose(t, func(thread.Head) { w.hide(t) })
		if err := w.Retract(t.Context(), key, two.DispatchID); err != nil {
			t.Error(err)
		}
		if err := w.Retract(t.Context(), key, two.DispatchID); !errors.Is(err, thread.ErrNotFound) {
			t.Errorf("another retraction: %v, want not found", err)
		}
	})
	t.Run("a queued run", func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		two := w.submit(t, input("two", ""))
		w.lose(t, func(thread.Head) { w.hide(t) })
		if err := w.Retract(t.Context(), key, two.DispatchID); err != nil {
			t.Error(err)
		}
	})
	t.Run("an entry that was read first", func(t *testing.T) {
		w, head, two := steered(t)
		w.drops(func() { w.reads(t, head, two.DispatchID) })
		if err := w.Retract(t.Context(), key, two.DispatchID); !errors.Is(err, thread.ErrNotFound) {
			t.Errorf("retract: %v, want not found", err)
		}
	})
	t.Run("a queued run that was opened first", func(t *testing.T) {
		w := newWorld(t)
		one := w.submit(t, input("one", ""))
		w.drops(func() { w.claim(t) })
		if err := w.Retract(t.Context(), key, one.DispatchID); !errors.Is(err, thread.ErrNotFound) {
			t.Errorf("retract: %v, want not found", err)
		}
		if got := w.status(t, one); got != "running" {
			t.Errorf("the open run is %q", got)
		}
	})
	t.Run("an entry that an interrupt superseded", func(t *testing.T) {
		w := newWorld(t)
		one := w.submit(t, input("one", ""))
		w.drops(func() { w.interrupt(t, "") })
		if err := w.Retract(t.Context(), key, one.DispatchID); !errors.Is(err, thread.ErrNotFound) {
			t.Errorf("retract: %v, want not found", err)
		}
	})
}

// What became of the target cannot be read: that is no reason to say that there is none.
func TestALookForATargetThatFailsIsTriedAgain(t *testing.T) {
	for _, times := range []int{1, 100} {
		t.Run(fmt.Sprint(times, " times"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				one := w.submit(t, input("one", ""))
				w.lose(t, func(thread.Head) { w.hide(t) })
				unread := errors.New("no route to host")
				left := times
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
					if left--; left >= 0 {
						return store.Record{}, false, unread
					}
					return w.store.Backend.Get(ctx, key, name)
				}
				err := w.Retract(t.Context(), key, one.DispatchID)
				if (times == 1) != (err == nil) || err != nil && !errors.Is(err, unread) {
					t.Errorf("retract: %v", err)
				}
			})
		})
	}
}

// edits edits input, whose new text is "new".
func (w *world) edits(t *testing.T, id core.ID) error {
	t.Helper()
	return w.Edit(t.Context(), key, id, []core.Message{core.UserMessage("new")})
}

// readText lets the claimed run read what it opened with, as a text, and end.
func (w *world) readText(t *testing.T, head thread.Head, r mailbox.Receipt, text string) {
	t.Helper()
	message := core.UserMessage(text).WithID("m")
	entries := []thread.Entry{
		{Run: head.Run.ID, Superseded: &thread.Range{From: 1, To: 1}},
		{Run: head.Run.ID, Message: &message, Input: head.Run.Dispatch},
	}
	var records []store.Record
	for i, e := range entries {
		payload, err := thread.Records{}.EncodeEntry(&e)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, store.Record{Name: store.LogName(head.Seq + 1 + uint64(i)), Fence: head.Claim.Fence, Payload: payload})
	}
	if _, _, err := w.Commit(t.Context(), key, thread.Head{}, thread.CommitStep{
		Fence: head.Claim.Fence, From: head.Seq, Outcome: thread.Done, Seq: head.Seq + 2,
	}, func(thread.Head, thread.Result) ([]store.Record, error) { return records, nil }); err != nil {
		t.Fatal(err)
	}
	run := thread.RunRecord{Run: core.Run{ID: r.RunID, Dispatch: r.DispatchID, ThreadID: "t1", Status: core.RunDone, FirstSeq: head.Seq + 1}}
	payload, err := thread.Records{}.EncodeRun(&run)
	if err != nil {
		t.Fatal(err)
	}
	w.put(t, store.Record{Name: recordname.Run(r.RunID), Fence: head.Fence, Version: 99, Payload: payload})
}

func TestAnEditWhoseResponseIsLostHappensOnce(t *testing.T) {
	revision := func(t *testing.T, w *world, id core.ID) uint32 {
		head := w.head(t)
		n, _ := head.Queues(id)
		return n
	}
	tests := []struct {
		name     string
		applied  bool
		happens  func(t *testing.T, w *world, r mailbox.Receipt)
		found    bool
		revision uint32 // 0: it is queued no more
		text     string
	}{
		{"others hide it", true, func(t *testing.T, w *world, _ mailbox.Receipt) { w.hide(t) }, true, 1, "new"},
		{"others hide that it was not applied", false, func(t *testing.T, w *world, _ mailbox.Receipt) { w.hide(t) }, true, 1, "new"},
		{"a later edit stands", true, func(t *testing.T, w *world, r mailbox.Receipt) {
			if err := w.Edit(t.Context(), key, r.DispatchID, []core.Message{core.UserMessage("other")}); err != nil {
				t.Error(err)
			}
		}, true, 2, "other"},
		{"another edit has taken its revision", false, func(t *testing.T, w *world, r mailbox.Receipt) {
			if err := w.Edit(t.Context(), key, r.DispatchID, []core.Message{core.UserMessage("other")}); err != nil {
				t.Error(err)
			}
		}, true, 2, "new"},
		{"its run is open", true, func(t *testing.T, w *world, _ mailbox.Receipt) { w.claim(t) }, true, 0, ""},
		{"its run is open with what a later edit says", true, func(t *testing.T, w *world, r mailbox.Receipt) {
			if err := w.Edit(t.Context(), key, r.DispatchID, []core.Message{core.UserMessage("other")}); err != nil {
				t.Error(err)
			}
			w.claim(t)
		}, true, 0, ""},
		{"its run was opened first", false, func(t *testing.T, w *world, _ mailbox.Receipt) { w.claim(t) }, false, 0, ""},
		{"it was read", true, func(t *testing.T, w *world, r mailbox.Receipt) { w.readText(t, w.claim(t), r, "new") }, true, 0, ""},
		{"it was read in a run of its own id, as steered input is", true, func(t *testing.T, w *world, r mailbox.Receipt) {
			w.readText(t, w.claim(t), mailbox.Receipt{RunID: r.DispatchID, DispatchID: r.DispatchID}, "new")
		}, true, 0, ""},
		{"it was read before", false, func(t *testing.T, w *world, r mailbox.Receipt) { w.readText(t, w.claim(t), r, "one") }, false, 0, ""},
		{"it was cancelled", true, func(t *testing.T, w *world, r mailbox.Receipt) {
			if _, err := w.Cancel(t.Context(), key, r.RunID); err != nil {
				t.Error(err)
			}
		}, false, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			one := w.submit(t, input("one", ""))
			if tt.applied {
				w.lose(t, func(thread.Head) { tt.happens(t, w, one) })
			} else {
				w.drops(func() { tt.happens(t, w, one) })
			}
			if err := w.edits(t, one.DispatchID); tt.found && err != nil || !tt.found && !errors.Is(err, thread.ErrNotFound) {
				t.Errorf("edit: %v, found %t", err, tt.found)
			}
			if got := revision(t, w, one.DispatchID); got != tt.revision {
				t.Errorf("revision %d, want %d", got, tt.revision)
			}
			if tt.text != "" {
				if got := w.text(t, one.DispatchID, tt.revision); got != tt.text {
					t.Errorf("it says %q, want %q", got, tt.text)
				}
			}
		})
	}
}

func TestAnEditOfSteeredInputWhoseResponseIsLostIsReadAtItsRevision(t *testing.T) {
	for _, tt := range []struct {
		text string
		done bool
	}{{"new", true}, {"two", false}} {
		t.Run(tt.text, func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("one", ""))
			head := w.claim(t)
			two := w.submit(t, input("two", mailbox.ModeSteer))
			revision := uint32(0)
			happens := func() {
				message := core.UserMessage(tt.text).WithID("m")
				payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Run: head.Run.ID, Message: &message, Input: two.DispatchID})
				if err != nil {
					t.Fatal(err)
				}
				w.put(t, store.Record{Name: store.LogName(1), Fence: head.Claim.Fence, Payload: payload})
				w.commit(t, thread.CommitStep{
					Fence: head.Claim.Fence, From: head.Seq, Outcome: thread.Yield, Seq: 1,
					Consumed: []thread.InboxRef{{ID: two.DispatchID, Revision: revision, Seq: 1}},
				})
			}
			if tt.done {
				revision = 1
				w.lose(t, func(thread.Head) { happens() })
			} else {
				w.drops(happens)
			}
			if err := w.edits(t, two.DispatchID); tt.done != (err == nil) || err != nil && !errors.Is(err, thread.ErrNotFound) {
				t.Errorf("edit: %v, done %t", err, tt.done)
			}
		})
	}
}

func TestAClaimWhoseResponseIsLostKnowsItself(t *testing.T) {
	t.Run("of a hint", func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		w.lose(t, func(thread.Head) { w.submit(t, input("two", "")) })
		head, claimed, err := w.Claim(t.Context(), hint, false)
		if err != nil || !claimed || head.Claim.Fence != 1 || head.Version != 3 {
			t.Errorf("claimed %t under fence %d at version %d, %v", claimed, head.Claim.Fence, head.Version, err)
		}
	})
	t.Run("inline", func(t *testing.T) {
		w := newWorld(t)
		w.lose(t, func(thread.Head) { w.hide(t) })
		r, head, stored, err := w.SubmitAndClaim(t.Context(), input("one", ""))
		if err != nil || stored == nil || !r.Running || r.Duplicate || head.Version != 2 {
			t.Errorf("input %v, receipt %+v at version %d, %v", stored, r, head.Version, err)
		}
	})
	t.Run("another delivery of the process has claimed", func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		w.drops(func() { w.claim(t) })
		head, claimed, err := w.Claim(t.Context(), hint, false)
		if err != nil || claimed {
			t.Errorf("claimed %t under fence %d, %v", claimed, head.Claim.Fence, err)
		}
	})
	t.Run("it was given back by another's reclaim", func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		w.lose(t, func(thread.Head) { w.commit(t, thread.Reclaim{}) })
		head, claimed, err := w.Claim(t.Context(), hint, false)
		if err != nil || !claimed || head.Claim.Fence != 2 || head.Run.Attempts != 2 {
			t.Errorf("claimed %t under fence %d with %d attempts, %v", claimed, head.Claim.Fence, head.Run.Attempts, err)
		}
	})
}

func TestAnInterruptLeavesWhatCameBehindAnother(t *testing.T) {
	for _, dedupe := range []string{"", "k"} {
		t.Run("its own, key "+dedupe, func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("one", ""))
			w.submit(t, input("and one", ""))
			var two mailbox.Receipt
			w.lose(t, func(thread.Head) {
				for range 17 { // so many requests that the key is forgotten
					r := w.submit(t, input("x", ""))
					if _, err := w.Cancel(t.Context(), key, r.RunID); err != nil {
						t.Error(err)
					}
				}
				two = w.submit(t, input("two", ""))
			})
			if came := w.interrupt(t, dedupe); came != (mailbox.Receipt{Superseded: 2}) {
				t.Errorf("interrupt: %+v, want two superseded", came)
			}
			if got := w.status(t, two); got != "created" || w.head(t).Epoch != 1 {
				t.Errorf("what came after the interrupt is %q at epoch %d", got, w.head(t).Epoch)
			}
		})
	}
	t.Run("another's", func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		var two mailbox.Receipt
		w.before(func() { two = w.submit(t, input("two", mailbox.ModeInterrupt)) })
		if came := w.interrupt(t, ""); came != (mailbox.Receipt{Superseded: 1}) {
			t.Errorf("interrupt: %+v, want what it saw", came)
		}
		if got := w.status(t, two); got != "created" {
			t.Errorf("what interrupted first is %q", got)
		}
	})
}

// A retraction that was refused leaves the audit of a queued run that it did not end.
func TestARetractionIsNotTakenForDoneByWhatItsRefusedTryHasLeft(t *testing.T) {
	for name, then := range map[string]func(*world, thread.Head, mailbox.Receipt){
		"the run is open": func(*world, thread.Head, mailbox.Receipt) {},
		"the run is over": func(w *world, head thread.Head, r mailbox.Receipt) {
			w.end(t, head)
			w.recordEnd(t, r, core.Termination{Type: core.TerminationNatural}, 9)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			one := w.submit(t, input("one", ""))
			w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
				w.store.OnCommit = nil
				for _, r := range c.Records {
					w.put(t, r)
				}
				then(w, w.claim(t), one)
				w.hide(t)
				return store.Outcome{}, errors.New("connection reset by peer")
			}
			if err := w.Retract(t.Context(), key, one.DispatchID); !errors.Is(err, thread.ErrNotFound) {
				t.Errorf("retract: %v, want not found", err)
			}
		})
	}
}
