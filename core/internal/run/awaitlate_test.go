package run

import (
	"testing"
	"testing/synctest"
	"time"
)

// A tool that has ended its parts, and of whose return nobody was told in time, was not left
// behind: it is waited for.
func TestAToolThatReturnsWhenItIsToBeLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &newScripted(t, &scripted{}, &said{}).holder
		a := &attempt{parts: &parts{step: h}, done: make(chan struct{})}
		if !a.parts.end() {
			t.Fatal("the parts are over")
		}
		began, counted := time.Now(), int64(-1)
		time.AfterFunc(3*time.Second, func() {
			counted = h.s.abandoned.Load()
			close(a.done)
		})
		returned := h.awaitLate(t.Context(), a)
		if took := time.Since(began); !returned || took != 3*time.Second || counted != 0 {
			t.Errorf("returned %t after %s, with %d tools left behind; want it after 3s and none", returned, took, counted)
		}
	})
}
