package mailbox_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// What cannot be published waits about as long again each time, up to an hour, however long
// it takes; a publisher that panics has failed.
func TestTriesOfAnAnnouncement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tries := 0
		w := telling(t, publish(func(mailbox.Announcement) error {
			if tries++; tries%2 == 0 {
				panic("no receiver")
			}
			return errors.New("no receiver")
		}), &log)
		w.submit(t, input("one", ""))
		head, err := w.over(t, key, w.claim(t), "done"), error(nil)
		began := time.Now()
		claimed := atFirst
		var waits []time.Duration
		for i := range 60 {
			if err := w.Deliver(t.Context(), key, head, claimed); err != nil {
				t.Fatal(err)
			}
			if head, err = w.Head(t.Context(), key); err != nil || len(head.Outbox) != 1 || int(head.Outbox[0].Tries) != i+1 {
				t.Fatalf("head %+v, %v", head, err)
			}
			wait := time.Until(time.UnixMilli(head.Outbox[0].Next))
			waits = append(waits, wait)
			claimed = thread.Head{}
			time.Sleep(wait)
		}
		if tries != 60 {
			t.Errorf("%d tries, want 60", tries)
		}
		for i, wait := range waits {
			if wait < 250*time.Millisecond || wait > time.Hour+time.Millisecond {
				t.Errorf("the wait behind try %d is %s", i+1, wait)
			}
		}
		if waits[0] > 501*time.Millisecond || waits[23] < 30*time.Minute || time.Since(began) < 24*time.Hour {
			t.Errorf("waits %v", waits)
		}
	})
}

// An announcement that nobody is there for waits a day for a publisher.
func TestAnnouncementWithoutAPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		w.submit(t, input("one", ""))
		w.over(t, key, w.claim(t), "done")
		for began := time.Now(); ; {
			head, err := w.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if len(head.Outbox) == 0 {
				if took := time.Since(began); took < 24*time.Hour || took > 26*time.Hour {
					t.Errorf("it was dropped after %s", took)
				}
				break
			}
			time.Sleep(time.Until(time.UnixMilli(head.Outbox[0].Next)))
			if err := w.Deliver(t.Context(), key, head, thread.Head{}); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "no publisher configured") {
			t.Errorf("the log says %s", log.String())
		}
	})
}

// Where the run's record is lost the tries tell how long it was owed.
func TestAnnouncementOfALostRunWithoutAPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		w.submit(t, input("one", ""))
		w.end(t, w.claim(t))
		began := time.Now()
		for tries := 0; ; tries++ {
			head := w.head(t)
			if len(head.Outbox) == 0 {
				if took := time.Since(began); took < 3*time.Hour || took > 6*time.Hour+10*time.Minute || tries != 19 {
					t.Errorf("it was dropped after %s and %d tries", took, tries)
				}
				break
			}
			time.Sleep(time.Until(time.UnixMilli(head.Outbox[0].Next)))
			if err := w.Deliver(t.Context(), key, head, thread.Head{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
