package run_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// A process keeps so much of threads as it is allowed to.
func TestWhatAProcessKeepsOfAThread(t *testing.T) {
	for cache, want := range map[int]int{0: 0, 1: 4} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options{cache: cache})
			w.submit(t, key, "echo: a", mailbox.ModeQueue)
			w.step(t, key)
			w.store.reads = 0
			if w.step(t, key); w.store.reads != want {
				t.Errorf("of %d bytes of cache: the second step reads %d records, want %d", cache, w.store.reads, want)
			}
		})
	}
}

// A process that meters nothing reads no record of a run that another one meters.
func TestARunThatOnlyAnotherProcessMeters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		var err error
		if w.box, err = mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: quiet, KeepUsage: time.Hour}); err != nil {
			t.Fatal(err)
		}
		w.stepper = w.other(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.step(t, key)
		w.store.reads = 0
		if w.step(t, key); w.store.reads != 0 {
			t.Errorf("the second step reads %d records, want none", w.store.reads)
		}
	})
}
