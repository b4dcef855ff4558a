package protocol_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core/env"
)

func TestFramesAreWrittenAsTheFormatSays(t *testing.T) {
	tests := []struct {
		name  string
		frame protocol.Frame
		want  string
	}{
		{"data alone", protocol.Frame{Data: []byte(`{"a":1}`)}, "data: {\"a\":1}\n\n"},
		{"all fields", protocol.Frame{ID: "r.1.2.3", Event: "note", Data: []byte("x")}, "id: r.1.2.3\nevent: note\ndata: x\n\n"},
		{"no data", protocol.Frame{ID: "7"}, "id: 7\ndata: \n\n"},
		{"several lines", protocol.Frame{Data: []byte("a\nb\r\nc\rd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{"line ends in id and event", protocol.Frame{ID: "1\ndata: no", Event: "e\r\x00v"}, "id: 1data: no\nevent: ev\ndata: \n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			if err := protocol.NewWriter(rec).Write(test.frame); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, rec.Body.String()); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if !rec.Flushed {
				t.Error("the frame was not flushed")
			}
		})
	}
}

func TestHeadersGoOutWithTheFirstFrame(t *testing.T) {
	rec := httptest.NewRecorder()
	w := protocol.NewWriter(rec)
	w.SetHeader("X-Protocol", "v1")
	if w.Started() || len(rec.Header()) != 0 {
		t.Fatalf("headers before the first frame: %v", rec.Header())
	}
	if err := w.Comment("hello\nthere"); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}, "Connection": {"keep-alive"},
		"X-Accel-Buffering": {"no"}, "X-Protocol": {"v1"},
	}
	if diff := cmp.Diff(want, rec.Result().Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if got := rec.Body.String(); got != ": hello\n: there\n\n" {
		t.Errorf("body %q", got)
	}
	if !w.Started() || w.Err() != nil {
		t.Errorf("started %t, error %v", w.Started(), w.Err())
	}
}

// plain is a transport without Flush and deadlines, like Lambda's.
type plain struct {
	header http.Header
	body   []byte
	err    error
	writes int
}

func (p *plain) Header() http.Header { return p.header }
func (p *plain) WriteHeader(int)     {}
func (p *plain) Write(b []byte) (int, error) {
	p.writes++
	if p.err != nil {
		return 0, p.err
	}
	p.body = append(p.body, b...)
	return len(b), nil
}

func TestATransportNeedsNoFlush(t *testing.T) {
	p := &plain{header: http.Header{}}
	if err := protocol.NewWriter(p).Write(protocol.Frame{Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if string(p.body) != "data: x\n\n" || p.writes != 1 {
		t.Errorf("body %q in %d writes, want one", p.body, p.writes)
	}
}

func TestAfterAnErrorNothingIsWritten(t *testing.T) {
	gone := errors.New("broken pipe")
	p := &plain{header: http.Header{}, err: gone}
	w := protocol.NewWriter(p)
	for range 2 {
		if err := w.Write(protocol.Frame{Data: []byte("x")}); !errors.Is(err, gone) {
			t.Errorf("error %v, want %v", err, gone)
		}
	}
	if err := w.Comment("x"); !errors.Is(err, gone) || !errors.Is(w.Err(), gone) {
		t.Errorf("errors %v and %v, want %v", err, w.Err(), gone)
	}
	if p.writes != 1 {
		t.Errorf("%d writes, want 1", p.writes)
	}
}

// shared is a transport that may be read while it is written.
type shared struct {
	plain
	mu sync.Mutex
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plain.Write(b)
}

func (s *shared) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.body)
}

func TestSilenceIsFilledEvery15Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &shared{plain: plain{header: http.Header{}}}
		w := protocol.NewWriter(rec)
		system := env.System()
		err := w.KeepAlive(t.Context(), system, func() error {
			wait := func(d time.Duration, want string) {
				t.Helper()
				if err := system.Sleep(t.Context(), d); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if diff := cmp.Diff(want, rec.text()); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
			}
			wait(14*time.Second, "")
			wait(1*time.Second, ": keep-alive\n\n")
			wait(10*time.Second, ": keep-alive\n\n")
			_ = w.Write(protocol.Frame{Data: []byte("x")})
			wait(14*time.Second, ": keep-alive\n\ndata: x\n\n")
			wait(1*time.Second, ": keep-alive\n\ndata: x\n\n: keep-alive\n\n")
			wait(15*time.Second, ": keep-alive\n\ndata: x\n\n: keep-alive\n\n: keep-alive\n\n")
			return errors.New("end")
		})
		if err == nil || err.Error() != "end" {
			t.Errorf("error %v, want end", err)
		}
		// synctest fails the test if a goroutine is left.
	})
}

func TestAClientThatIsGoneEndsTheHeartbeatsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plain{header: http.Header{}, err: errors.New("broken pipe")}
		system := env.System()
		err := protocol.NewWriter(p).KeepAlive(t.Context(), system, func() error {
			return system.Sleep(t.Context(), time.Hour)
		})
		if err != nil || p.writes != 1 {
			t.Errorf("error %v after %d writes, want none after 1", err, p.writes)
		}
	})
}

func TestACancelledRequestEndsTheHeartbeatsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p := &plain{header: http.Header{}}
		system := env.System()
		err := protocol.NewWriter(p).KeepAlive(ctx, system, func() error {
			return system.Sleep(t.Context(), time.Hour)
		})
		if err != nil || p.writes != 0 {
			t.Errorf("error %v after %d writes, want none after 0", err, p.writes)
		}
	})
}

func TestAPanicOfTheWorkIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := protocol.NewWriter(httptest.NewRecorder()).KeepAlive(t.Context(), env.System(), func() error { panic("boom") })
		var p *env.PanicError
		if !errors.As(err, &p) || p.Value != "boom" || len(p.Stack) == 0 {
			t.Errorf("error %v, want the panic boom with its stack", err)
		}
	})
}

// deadlines records the write deadline of each frame.
type deadlines struct {
	plain
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error { d.set = append(d.set, at); return nil }

func TestAFrameMustLeaveWithin30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{plain: plain{header: http.Header{}}}
		w := protocol.NewWriter(d)
		_ = w.KeepAlive(t.Context(), env.System(), func() error { return w.Write(protocol.Frame{}) })
		if want := time.Date(2000, 1, 1, 0, 0, 30, 0, time.UTC); len(d.set) != 1 || !d.set[0].Equal(want) {
			t.Errorf("deadlines %v, want %v", d.set, want)
		}
	})
}
