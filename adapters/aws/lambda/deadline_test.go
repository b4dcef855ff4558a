package lambda

import (
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
)

func TestAWriteThatWaitsEndsWithItsDeadline(t *testing.T) {
	tests := []struct {
		name  string
		set   func(*http.ResponseController) // before the write, and in another goroutine after 5 s
		later func(*http.ResponseController)
		want  time.Duration
	}{
		{"set before", func(c *http.ResponseController) { _ = c.SetWriteDeadline(time.Now().Add(30 * time.Second)) }, nil, 30 * time.Second},
		{"set while it waits", nil, func(c *http.ResponseController) { _ = c.SetWriteDeadline(time.Now().Add(time.Second)) }, 6 * time.Second},
		{"over already", func(c *http.ResponseController) { _ = c.SetWriteDeadline(time.Now().Add(-time.Second)) }, nil, 0},
		{"moved", func(c *http.ResponseController) { _ = c.SetWriteDeadline(time.Now().Add(30 * time.Second)) },
			func(c *http.ResponseController) { _ = c.SetWriteDeadline(time.Now()) }, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := open(t, t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					control := http.NewResponseController(w)
					if tt.set != nil {
						tt.set(control)
					}
					later := time.AfterFunc(5*time.Second, func() {
						if tt.later != nil {
							tt.later(control)
						}
					})
					defer later.Stop()
					began := time.Now()
					n, err := w.Write(make([]byte, 256<<10))
					if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took != tt.want {
						t.Errorf("wrote %d bytes in %s: %v, want %s and the deadline's error", n, took, err, tt.want)
					}
				}), urlGet)
				time.Sleep(time.Minute)
				_, err := io.ReadAll(o.body)
				var broken messages.InvokeResponse_Error
				if !errors.As(err, &broken) || broken.Type != "Reveille.BrokenStream" {
					t.Errorf("the body ends with %v, want a broken stream", err)
				}
				_ = o.close()
			})
		})
	}
}

func TestAWriteThatNeedsNotWaitHasTime(t *testing.T) {
	o := open(t, t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		if err := control.SetWriteDeadline(time.Unix(0, 0)); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(w, "hello"); err != nil {
			t.Error(err)
		}
		_ = control.SetWriteDeadline(time.Time{})
	}), urlGet)
	if body, err := io.ReadAll(o.body); string(body) != "hello" || err != nil {
		t.Errorf("body %q, %v", body, err)
	}
	_ = o.close()
}

// Who leaves a client sets a deadline that is over. That may come between two
// writes, none of which fails then, and what was to follow is missing all the same.
func TestAResponseWhoseDeadlineIsOverAtItsEndIsBroken(t *testing.T) {
	tests := []struct {
		name   string
		within time.Duration
		broken bool
	}{
		{"a moment left", time.Nanosecond, false},
		{"none", 0, true},
		{"over before", -time.Second, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := open(t, t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "data: 1\n\n")
					_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(tt.within))
				}), urlGet)
				body, err := io.ReadAll(o.body)
				var broken messages.InvokeResponse_Error
				if errors.As(err, &broken) != tt.broken || string(body) != "data: 1\n\n" {
					t.Errorf("the body is %q and ends with %v; broken is to be %t", body, err, tt.broken)
				}
				_ = o.close()
			})
		})
	}
}

func TestAResponseThatLacksAWriteStaysBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t, t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			control := http.NewResponseController(w)
			_ = control.SetWriteDeadline(time.Now())
			if _, err := w.Write(make([]byte, 256<<10)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error %v, want the deadline's", err)
			}
			_ = control.SetWriteDeadline(time.Time{}) // for what comes after
		}), urlGet)
		time.Sleep(time.Second)
		_, err := io.ReadAll(o.body)
		var broken messages.InvokeResponse_Error
		if !errors.As(err, &broken) || broken.Type != "Reveille.BrokenStream" {
			t.Errorf("the body ends with %v, want a broken stream", err)
		}
		_ = o.close()
	})
}
