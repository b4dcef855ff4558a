package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// transport is a response that records its writes. A nil field of functions does
// nothing.
type transport struct {
	header http.Header
	write  func() error // called before each write
	flush  func() error

	mu        sync.Mutex
	writes    []string
	deadlines []time.Time
	flushes   int
}

func newTransport() *transport { return &transport{header: http.Header{}} }

func (t *transport) Header() http.Header { return t.header }
func (t *transport) WriteHeader(int)     {}

func (t *transport) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.writes = append(t.writes, string(b))
	t.mu.Unlock()
	if t.write != nil {
		if err := t.write(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (t *transport) FlushError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flushes++
	if t.flush != nil {
		return t.flush()
	}
	return nil
}

func (t *transport) SetWriteDeadline(at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deadlines = append(t.deadlines, at)
	return nil
}

// written returns the writes so far.
func (t *transport) written() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.writes...)
}

func text(s string) protocol.Frame { return protocol.Frame{Data: []byte(s)} }

// while runs f beside a writer over the transport, in a bubble of its own time.
func while(t *testing.T, response http.ResponseWriter, f func(*protocol.Writer) error) (w *protocol.Writer, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w = protocol.NewWriter(response)
		err = w.While(t.Context(), env.System(), func() error { return f(w) })
		// synctest fails the test if a goroutine is left.
	})
	return w, err
}

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
		{"line ends at both edges", protocol.Frame{Data: []byte("\nevent: no\r")}, "data: \ndata: event: no\ndata: \n\n"},
		{"line ends in id and event", protocol.Frame{ID: "1\ndata: no", Event: "e\r\x00v"}, "id: 1data: no\nevent: ev\ndata: \n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			if _, err := while(t, rec, func(w *protocol.Writer) error { return w.Write(test.frame) }); err != nil {
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
	_, _ = while(t, rec, func(w *protocol.Writer) error {
		synctest.Wait()
		if w.Started() || len(rec.Header()) != 0 {
			t.Fatalf("headers before the first frame: %v", rec.Header())
		}
		return w.Write(text("hello"))
	})
	want := http.Header{
		"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}, "Connection": {"keep-alive"}, "X-Accel-Buffering": {"no"},
	}
	if diff := cmp.Diff(want, rec.Result().Header); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, headers (-want +got):\n%s", rec.Code, diff)
	}
}

func TestAStreamWithoutAFrameSetsNothing(t *testing.T) {
	rec := httptest.NewRecorder()
	if w, err := while(t, rec, func(*protocol.Writer) error { return errors.New("refused") }); err == nil || w.Started() || len(rec.Header()) != 0 || rec.Flushed {
		t.Errorf("error %v, started %t, headers %v", err, w.Started(), rec.Header())
	}
}

func TestFramesThatComeDuringAWriteLeaveTogether(t *testing.T) {
	response := newTransport()
	_, err := while(t, response, func(w *protocol.Writer) error {
		network := make(chan struct{})
		response.write = func() error { <-network; return nil }
		_ = w.Write(text("1"))
		synctest.Wait() // it is being written: no timer was needed
		for i := 2; i <= 4; i++ {
			if err := w.Write(text(fmt.Sprint(i))); err != nil {
				return err
			}
		}
		close(network)
		synctest.Wait()
		return w.Write(text("5"))
	})
	want := []string{"data: 1\n\n", "data: 2\n\ndata: 3\n\ndata: 4\n\n", "data: 5\n\n"}
	if diff := cmp.Diff(want, response.written()); err != nil || diff != "" || response.flushes != 3 {
		t.Errorf("error %v, %d flushes, want 3; writes (-want +got):\n%s", err, response.flushes, diff)
	}
}

func TestATransportNeedsNeitherFlushNorDeadlines(t *testing.T) {
	response := newTransport()
	plain := struct{ http.ResponseWriter }{response}
	if _, err := while(t, plain, func(w *protocol.Writer) error { return w.Write(text("x")) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"data: x\n\n"}, response.written()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestAfterAnErrorNothingIsWritten(t *testing.T) {
	gone := errors.New("broken pipe")
	response := newTransport()
	response.write = func() error { return gone }
	w, err := while(t, response, func(w *protocol.Writer) error {
		_ = w.Write(text("x"))
		synctest.Wait()
		for range 2 {
			if err := w.Write(text("y")); !errors.Is(err, gone) {
				t.Errorf("error %v, want %v", err, gone)
			}
		}
		if err := w.Ready(context.Background()); !errors.Is(err, gone) {
			t.Errorf("ready: error %v, want %v", err, gone)
		}
		return env.System().Sleep(context.Background(), time.Minute) // no heartbeat either
	})
	if got := len(response.written()); got != 1 || err != nil || !errors.Is(w.Err(), gone) {
		t.Errorf("%d writes, want 1; errors %v and %v, want none and %v", got, err, w.Err(), gone)
	}
}

func TestAFlushThatFailsEndsTheStream(t *testing.T) {
	gone := errors.New("broken pipe")
	response := newTransport()
	response.flush = func() error { return gone }
	w, err := while(t, response, func(w *protocol.Writer) error {
		_ = w.Write(text("x"))
		synctest.Wait()
		return w.Write(text("y"))
	})
	if !errors.Is(err, gone) || !errors.Is(w.Err(), gone) {
		t.Errorf("errors %v and %v, want %v", err, w.Err(), gone)
	}
}

// A frame may find as much before it as is allowed, and not a byte more.
func TestHowFarBehindAReaderMayBe(t *testing.T) {
	const field, end = len("data: "), len("\n\n")
	for _, over := range []int{0, 1} {
		_, err := while(t, stalled(), func(w *protocol.Writer) error {
			_ = w.Write(protocol.Frame{Data: bytes.Repeat([]byte("x"), 4<<20-field-end+over)})
			synctest.Wait() // it is under way, and counts as long as it has not left
			if err := w.Write(text("x")); errors.Is(err, protocol.ErrSlow) != (over > 0) {
				t.Errorf("%d bytes more than allowed: error %v", over, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestAReaderIsReadyUnder64KiB(t *testing.T) {
	const field, end = len("data: "), len("\n\n")
	for _, size := range []int{64<<10 - 1, 64 << 10} {
		_, err := while(t, stalled(), func(w *protocol.Writer) error {
			_ = w.Write(protocol.Frame{Data: bytes.Repeat([]byte("x"), size-field-end)})
			over, cancel := context.WithCancel(context.Background())
			cancel()
			if err := w.Ready(over); errors.Is(err, context.Canceled) != (size == 64<<10) {
				t.Errorf("%d bytes wait: error %v", size, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestATransportThatPanicsEndsTheStream(t *testing.T) {
	response := newTransport()
	response.write = func() error { panic("boom") }
	w, err := while(t, response, func(w *protocol.Writer) error { return w.Write(text("x")) })
	var p *env.PanicError
	if err != nil || !errors.As(w.Err(), &p) || p.Value != "boom" {
		t.Errorf("errors %v and %v, want none and the panic", err, w.Err())
	}
}

func TestSilenceIsFilledEvery15Seconds(t *testing.T) {
	response := newTransport()
	_, err := while(t, response, func(w *protocol.Writer) error {
		wait := func(d time.Duration, want ...string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if diff := cmp.Diff(want, response.written()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		}
		const beat = ": keep-alive\n\n"
		wait(14 * time.Second)
		wait(1*time.Second, beat)
		wait(10*time.Second, beat)
		_ = w.Write(text("x"))
		wait(14*time.Second, beat, "data: x\n\n")
		wait(1*time.Second, beat, "data: x\n\n", beat)
		wait(15*time.Second, beat, "data: x\n\n", beat, beat)
		return errors.New("end")
	})
	if err == nil || err.Error() != "end" {
		t.Errorf("error %v, want end", err)
	}
}

func TestACancelledRequestEndsTheHeartbeatsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		response := newTransport()
		w := protocol.NewWriter(response)
		err := w.While(ctx, env.System(), func() error {
			time.Sleep(time.Hour)
			return w.Write(text("last"))
		})
		if diff := cmp.Diff([]string{"data: last\n\n"}, response.written()); err != nil || diff != "" {
			t.Errorf("error %v, writes (-want +got):\n%s", err, diff)
		}
	})
}

func TestAPanicOfTheWorkIsAnError(t *testing.T) {
	_, err := while(t, newTransport(), func(*protocol.Writer) error { panic("boom") })
	var p *env.PanicError
	if !errors.As(err, &p) || p.Value != "boom" || len(p.Stack) == 0 {
		t.Errorf("error %v, want the panic boom with its stack", err)
	}
}

// stalled is a transport whose reader takes nothing: a write ends with its deadline.
func stalled() *transport {
	response := newTransport()
	response.write = func() error {
		for {
			response.mu.Lock()
			left := time.Until(response.deadlines[len(response.deadlines)-1])
			response.mu.Unlock()
			if left <= 0 {
				return fmt.Errorf("write: %w", os.ErrDeadlineExceeded)
			}
			time.Sleep(min(left, 100*time.Millisecond))
		}
	}
	return response
}

func TestAReaderThatTakesNothingFor30SecondsIsLeft(t *testing.T) {
	w, err := while(t, stalled(), func(w *protocol.Writer) error {
		began := time.Now()
		for range 29 {
			if err := w.Write(text("x")); err != nil {
				t.Fatalf("after %s: %v", time.Since(began), err)
			}
			time.Sleep(time.Second)
		}
		if got := time.Since(began); got != 29*time.Second {
			t.Errorf("29 writes took %s, want nothing beside the 29 s between them", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if err := w.Write(text("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after 30 s: error %v", err)
		}
		return nil
	})
	if err != nil || !errors.Is(w.Err(), os.ErrDeadlineExceeded) {
		t.Errorf("errors %v and %v", err, w.Err())
	}
}

func TestTheLastFramesHave30SecondsToLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		response := newTransport()
		response.write = func() error { time.Sleep(20 * time.Second); return nil } // it takes something now and then
		w := protocol.NewWriter(response)
		var ended time.Time
		_ = w.While(t.Context(), env.System(), func() error {
			_ = w.Write(text("1"))
			time.Sleep(time.Second)
			_ = w.Write(text("2"))
			ended = time.Now()
			return nil
		})
		var after []time.Duration
		for _, d := range response.deadlines {
			after = append(after, d.Sub(ended))
		}
		if diff := cmp.Diff([]time.Duration{29 * time.Second, 30 * time.Second}, after); diff != "" {
			t.Errorf("deadlines after the end (-want +got):\n%s", diff)
		}
	})
}

// A host that stops does not wait 30 s for a client that reads nothing.
func TestTheLastFramesOfACancelledRequestHave2SecondsToLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := protocol.NewWriter(stalled())
		var ended time.Time
		_ = w.While(ctx, env.System(), func() error {
			_ = w.Write(text("1"))
			synctest.Wait()
			cancel()
			ended = time.Now()
			return w.Write(text("2"))
		})
		if took := time.Since(ended); took != 2*time.Second || !errors.Is(w.Err(), os.ErrDeadlineExceeded) {
			t.Errorf("it took %s, error %v, want 2 s and the deadline's", took, w.Err())
		}
	})
}

func TestAReaderThatIsFarBehindIsLeftAtOnce(t *testing.T) {
	w, err := while(t, stalled(), func(w *protocol.Writer) error {
		began := time.Now()
		megabyte := protocol.Frame{Data: bytes.Repeat([]byte("x"), 1<<20)}
		accepted := 0
		for w.Write(megabyte) == nil {
			accepted++
		}
		if accepted != 4 || time.Since(began) != 0 {
			t.Errorf("%d frames of 1 MiB were accepted in %s, want 4 in no time", accepted, time.Since(began))
		}
		if err := w.Write(text("x")); core.CodeOf(err) != core.CodeUnavailable {
			t.Errorf("error %v", err)
		}
		return nil
	})
	if err != nil || !errors.Is(w.Err(), protocol.ErrSlow) {
		t.Errorf("errors %v and %v, want none and ErrSlow", err, w.Err())
	}
}

func TestReadyWaitsForTheReader(t *testing.T) {
	response := newTransport()
	_, err := while(t, response, func(w *protocol.Writer) error {
		network := make(chan struct{})
		response.write = func() error { <-network; return nil }
		if err := w.Ready(context.Background()); err != nil {
			return err
		}
		_ = w.Write(protocol.Frame{Data: bytes.Repeat([]byte("x"), 100<<10)})
		ready := make(chan error, 1)
		go func() { ready <- w.Ready(context.Background()) }()
		network <- struct{}{} // 32 of 100 KiB
		synctest.Wait()
		if len(ready) != 0 {
			t.Error("ready while 68 KiB wait")
		}
		short, cancel := context.WithCancel(context.Background())
		cancel()
		if err := w.Ready(short); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
		network <- struct{}{}
		synctest.Wait()
		if len(ready) != 1 {
			t.Error("not ready while 36 KiB wait")
		}
		close(network)
		return <-ready
	})
	if err != nil {
		t.Error(err)
	}
}

func TestReadyEndsWithItsReader(t *testing.T) {
	w, err := while(t, stalled(), func(w *protocol.Writer) error {
		_ = w.Write(protocol.Frame{Data: bytes.Repeat([]byte("x"), 100<<10)})
		began := time.Now()
		err := w.Ready(context.Background())
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("Ready took %s, want 30 s", took)
		}
		return err
	})
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(w.Err(), os.ErrDeadlineExceeded) {
		t.Errorf("errors %v and %v", err, w.Err())
	}
}

func TestTheEndIsTheEnd(t *testing.T) {
	response := newTransport()
	w, _ := while(t, response, func(*protocol.Writer) error { return nil })
	if err := w.Write(text("x")); core.CodeOf(err) != core.CodeInternal || len(response.written()) != 0 {
		t.Errorf("error %v, writes %q", err, response.written())
	}
}
