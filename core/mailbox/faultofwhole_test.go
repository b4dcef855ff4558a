package mailbox_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// As TestFailureOfEveryReadIsTheOperations, for what concerns threads, runs that are over,
// and whole lists.
func TestFailureOfEveryReadOfWhatIsOver(t *testing.T) {
	receipt := func(r mailbox.Receipt, err error) (bool, error) { return r != (mailbox.Receipt{}), err }
	submit := func(s func(w *world) mailbox.Submission) func(*testing.T, *world) (bool, error) {
		return func(t *testing.T, w *world) (bool, error) { return receipt(w.Submit(t.Context(), s(w))) }
	}
	become := func(made func(t *testing.T) *world) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { *w = *made(t) }
	}
	failed := func(end core.Termination) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			over, run := died(t, end)
			*w = *over
			w.last.RunID = run
		}
	}
	model := core.Termination{Type: core.TerminationError, Code: "model"}
	takeUp := func(t *testing.T, w *world) (bool, error) {
		return receipt(w.TakeUp(t.Context(), key, "ann", w.last.RunID))
	}
	retry := func(t *testing.T, w *world) (bool, error) {
		return receipt(w.Retry(t.Context(), key, "ann", w.last.RunID))
	}
	and := func(first func(*testing.T, *world), then ...func(*testing.T, *world)) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			first(t, w)
			for _, f := range then {
				f(t, w)
			}
		}
	}
	done := func(do func(*testing.T, *world) (bool, error)) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			if _, err := do(t, w); err != nil {
				t.Fatal(err)
			}
		}
	}
	retaken := func(t *testing.T, w *world) { // by a run that is open
		w.last = w.submit(t, keyedRetake("two", "x"))
		w.claim(t)
	}
	titled := mailbox.Creating{Thread: key, User: "ann", Key: "k", About: thread.About{Title: "Rome"}}
	create := func(t *testing.T, w *world) (bool, error) {
		_, err := w.Create(t.Context(), titled)
		return false, err
	}
	remove := func(children mailbox.Children) func(*testing.T, *world) (bool, error) {
		return func(t *testing.T, w *world) (bool, error) {
			return false, w.DeleteWith(t.Context(), key, "ann", children)
		}
	}
	list := func(t *testing.T, w *world) (bool, error) {
		_, err := w.List(t.Context(), key, w.head(t), mailbox.ListQuery{})
		return false, err
	}
	queued := func(t *testing.T, w *world) { w.last = w.submit(t, keyed("one", "")) }
	tests := []struct {
		name      string
		arrange   func(t *testing.T, w *world)
		operation func(t *testing.T, w *world) (claims bool, err error)
		reads     int
	}{
		{"retake", become(retakable), submit(func(*world) mailbox.Submission { return retaking("two") }), 6},
		{"retake of a queued retake", and(become(retakable), func(t *testing.T, w *world) { w.last = w.submit(t, retaking("two", "x")) }),
			submit(func(*world) mailbox.Submission { return retaking("new0") }), 2},
		{"retake of what is behind an inbox", and(become(retakable), func(t *testing.T, w *world) {
			w.submit(t, input("open", ""))
			w.claim(t)
			w.submit(t, input("steered", mailbox.ModeSteer))
		}), submit(func(*world) mailbox.Submission { return retaking("two") }), 8},
		{"keyed retake", become(retakable), submit(func(*world) mailbox.Submission { return keyedRetake("two") }), 9},
		{"keyed retake again", and(become(retakable), retaken), submit(func(*world) mailbox.Submission { return keyedRetake("two", "x") }), 10},
		{"keyed retake by its own name", and(become(retakable), retaken), submit(func(*world) mailbox.Submission { return keyedRetake("new0", "x") }), 5},
		{"keyed retake of an open run", and(become(retakable), func(t *testing.T, w *world) {
			s := input("open", "")
			s.Messages[0].ID = "open"
			w.submit(t, s)
			w.claim(t)
		}), submit(func(*world) mailbox.Submission { return keyedRetake("open") }), 5},
		{"keyed retake of what is gone", and(become(retakable), func(t *testing.T, w *world) {
			w.last = w.submit(t, keyedRetake("two", "x"))
			head, step := w.claim(t), goOn
			step.Cut = 4
			w.writes(t, head, step, thread.Entry{Run: head.Run.ID, Superseded: &thread.Range{From: 4, To: 8}}, said(head.Run.ID, head.Run.Dispatch, "new0"))
		}), submit(func(*world) mailbox.Submission { return keyedRetake("two", "x") }), 11},
		{"supersede", become(written), submit(func(*world) mailbox.Submission {
			s := input("again", "")
			s.Opening.Supersede = 6
			return s
		}), 2},
		{"submit for a tenant with limits", become(limited), submit(func(*world) mailbox.Submission { return keyed("one", "") }), 4},
		{"take up", failed(model), takeUp, 7},
		{"take up again", and(failed(model), done(takeUp)), takeUp, 5},
		{"take up what was taken up and cancelled", and(failed(model), done(takeUp), func(t *testing.T, w *world) {
			if _, err := w.Cancel(t.Context(), key, core.ID{}); err != nil {
				t.Fatal(err)
			}
		}), takeUp, 11},
		{"take up a continuation that has written nothing", and(failed(model), func(t *testing.T, w *world) {
			r, err := w.TakeUp(t.Context(), key, "ann", w.last.RunID)
			if err != nil {
				t.Fatal(err)
			}
			w.end(t, w.claim(t))
			w.recordEnd(t, r, model, 9)
			w.last.RunID = r.RunID
		}), takeUp, 9},
		{"retry", failed(*thread.ReasonDeadLetter.Termination()), retry, 5},
		{"retry again", and(failed(*thread.ReasonDeadLetter.Termination()), done(retry)), retry, 5},
		{"create", func(*testing.T, *world) {}, create, 3},
		{"create again", done(create), create, 4},
		{"describe", queued, func(t *testing.T, w *world) (bool, error) {
			about, _, err := w.Describe(t.Context(), key, "ann", func(thread.About) (thread.About, error) { return thread.About{Title: "Rome"}, nil })
			return about.Title != "", err
		}, 2},
		{"about", done(create), func(t *testing.T, w *world) (bool, error) {
			about, err := w.About(t.Context(), key)
			return about.Title != "", err
		}, 1},
		{"list", become(func(t *testing.T) *world {
			w, _ := mixed(t)
			return w
		}), list, 18},
		{"list of a run that waits", func(t *testing.T, w *world) {
			queued(t, w)
			tickets := []core.Ticket{asks(0), asks(1)}
			w.suspend(t, w.calls(t, w.claim(t), true, tickets...), thread.Wait, tickets...)
			w.decide(t, deciding("s0", "d"))
		}, list, 7},
		{"interrupt", queued, func(t *testing.T, w *world) (bool, error) {
			came, err := w.Interrupt(t.Context(), key, "ann", "k")
			return came != (mailbox.Receipt{}), err
		}, 1},
		{"what was submitted, and cancelled", and(queued, func(t *testing.T, w *world) {
			if _, err := w.Cancel(t.Context(), key, w.last.RunID); err != nil {
				t.Fatal(err)
			}
		}), func(t *testing.T, w *world) (bool, error) {
			run, ok, err := w.Submitted(t.Context(), key, w.head(t), "k")
			return ok || !run.IsZero() && err == nil, err
		}, 6},
		{"asked", func(t *testing.T, w *world) {
			queued(t, w)
			w.waits(t, w.claim(t), asks(0), asks(1))
		}, func(t *testing.T, w *world) (bool, error) {
			asked, err := w.Asked(t.Context(), key, w.head(t))
			return asked != nil, err
		}, 2},
		{"delete", queued, remove(""), 1},
		{"delete what may have no child", queued, remove(mailbox.ChildrenReject), 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { eachReadFails(t, tt.reads, tt.arrange, tt.operation) })
	}
}
