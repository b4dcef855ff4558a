package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// The input that waits in a thread is read four at a time: as many round trips hide behind
// one.
func TestInputThatWaitsIsReadSideBySide(t *testing.T) {
	for inputs, want := range map[int]time.Duration{4: time.Second, 5: 2 * time.Second, 8: 2 * time.Second} {
		t.Run(fmt.Sprint(inputs), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", &storetest.Faulty{Backend: r.store, OnGet: func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
					if strings.HasPrefix(name, "Q#") {
						time.Sleep(time.Second)
					}
					return r.store.Get(ctx, key, name)
				}})
				for n := range inputs {
					if _, err := process.Submit(t.Context(), submission("t1", fmt.Sprint("input ", n))); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				page, err := process.Messages(t.Context(), local, "t1", host.MessageQuery{})
				if err != nil || len(page.Messages) != inputs || time.Since(began) != want {
					t.Errorf("%d messages, %v, after %s; want %d after %s", len(page.Messages), err, time.Since(began), inputs, want)
				}
			})
		})
	}
}
