package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// serve serves a source with the letters' encoder, in a bubble of its own time.
func serve(t *testing.T, w http.ResponseWriter, log *slog.Logger, encoder protocol.Encoder, source func(host.Listener) error) (err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		o := protocol.Server{Env: env.System(), Log: log}
		err = o.Serve(w, httptest.NewRequest("GET", "/x", nil).WithContext(context.Background()), encoder, source)
	})
	return err
}

var (
	said  = core.Event{Type: core.EventTextDelta, Delta: "hi"}
	ended = core.Event{Type: core.EventRunFinish}
)

func TestHowAStreamEnds(t *testing.T) {
	const hi, bye = "event: text\ndata: hi\n\n", "event: bye\ndata: run_finish\n\n"
	full := core.Errorf(core.CodeFull, "t1 is full")
	emit := func(events ...core.Event) func(host.Listener) error {
		return func(l host.Listener) error {
			for _, e := range events {
				if err := l.Emit(e); err != nil {
					return nil
				}
			}
			return nil
		}
	}
	tests := []struct {
		name    string
		source  func(host.Listener) error
		refused error // compared by errors.Is
		status  int
		body    string
		logged  string
	}{
		{"well", emit(said, ended), nil, 200, hi + bye, ""},
		{"refused", func(host.Listener) error { return full }, full, 200, "", ""},
		{"with nothing", emit(), protocol.ErrUnfinished, 200, "", ""},
		{"without its last event", emit(said), nil, 200, hi + "event: sorry\ndata: the service cannot answer now, try again\n\n", "stream ended before its run"},
		{"with an error", func(l host.Listener) error { return errors.Join(l.Emit(said), full) }, nil, 200, hi + "event: sorry\ndata: t1 is full\n\n", ""},
		{"with a panic", func(l host.Listener) error { _ = l.Emit(said); panic("secret") }, nil, 200, hi + "event: sorry\ndata: internal error\n\n", "serve_test.go"},
		{"refused after a heartbeat", func(host.Listener) error { time.Sleep(16 * time.Second); return full }, nil, 200, ": keep-alive\n\nevent: sorry\ndata: t1 is full\n\n", ""},
		{"with what cannot be encoded", emit(said, core.Event{Type: core.EventToolCallDone}), nil, 200, hi + "event: sorry\ndata: internal error\n\n", "encode tool_call_done: no result"},
		{"with a panic of the encoder", emit(said, core.Event{Type: core.EventRunStart}), nil, 200, hi + "event: sorry\ndata: internal error\n\n", "panic: boom"},
		{"with nothing that the client lacks", emit(core.Event{Type: core.EventStepEnd}), nil, 204, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rec, logged := httptest.NewRecorder(), &bytes.Buffer{}
			err := serve(t, rec, slog.New(slog.NewTextHandler(logged, nil)), &fussy{}, test.source)
			if !errors.Is(err, test.refused) || test.refused == nil && err != nil {
				t.Errorf("error %v, want %v", err, test.refused)
			}
			if rec.Code != test.status || rec.Body.String() != test.body {
				t.Errorf("status %d, body %q, want %d %q", rec.Code, rec.Body, test.status, test.body)
			}
			if !strings.Contains(logged.String(), test.logged) || (logged.Len() == 0) != (test.logged == "") {
				t.Errorf("log %q, want %q", logged, test.logged)
			}
		})
	}
}

// fussy is the letters' encoder, which some events break and one ends.
type fussy struct{ lettersEncoder }

func (f *fussy) Encode(e core.Event) ([]protocol.Frame, error) {
	switch e.Type {
	case core.EventToolCallDone:
		return nil, errors.New("no result")
	case core.EventRunStart:
		panic("boom")
	case core.EventStepEnd:
		f.ended = true
		return nil, nil
	}
	return f.lettersEncoder.Encode(e)
}

func TestAListenerThatFailedAlwaysFails(t *testing.T) {
	gone := errors.New("broken pipe")
	response := newTransport()
	response.write = func() error { return gone }
	err := serve(t, response, quiet, &lettersEncoder{}, func(l host.Listener) error {
		_ = l.Emit(said)
		synctest.Wait()
		for range 2 {
			if err := l.Emit(said); !errors.Is(err, gone) {
				t.Errorf("emit: error %v", err)
			}
			if err := l.Ready(context.Background()); !errors.Is(err, gone) {
				t.Errorf("ready: error %v", err)
			}
		}
		return core.Errorf(core.CodeInternal, "after the client went away")
	})
	if got := len(response.written()); err != nil || got != 1 {
		t.Errorf("error %v after %d writes, want none after 1: nobody is left to tell", err, got)
	}
}

func TestAListenerSaysAtOnceThatNobodyListens(t *testing.T) {
	large := core.Event{Type: core.EventTextDelta, Delta: strings.Repeat("x", 5<<20)}
	tests := []struct {
		name   string
		events []core.Event // the last one fails, and whatever comes behind it
		code   core.Code
	}{
		{"what cannot be encoded", []core.Event{said, {Type: core.EventToolCallDone}}, core.CodeInternal},
		{"one that finds too much before it", []core.Event{large, said}, core.CodeUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_ = serve(t, stalled(), quiet, &fussy{}, func(l host.Listener) error {
				last := len(tt.events) - 1
				for _, e := range tt.events[:last] {
					if err := l.Emit(e); err != nil {
						t.Errorf("%s: %v", e.Type, err)
					}
				}
				for _, e := range []core.Event{tt.events[last], said} {
					if err := l.Emit(e); err == nil || core.CodeOf(err) != tt.code {
						t.Errorf("%s: error %v, want code %s", e.Type, err, tt.code)
					}
				}
				return nil
			})
		})
	}
}

func TestAReaderThatIsLeftIsLogged(t *testing.T) {
	const left = `level=INFO msg="client too slow, stream closed" path=/x`
	large := core.Event{Type: core.EventTextDelta, Delta: strings.Repeat("x", 5<<20)}
	tests := []struct {
		name   string
		source func(host.Listener) error
		write  error // of the transport, instead of its deadline's
		logged int
	}{
		{"for its silence", func(l host.Listener) error {
			for range 40 {
				time.Sleep(time.Second)
				_ = l.Emit(said)
			}
			return nil
		}, nil, 1},
		{"for being far behind", func(l host.Listener) error { return errors.Join(l.Emit(large), l.Emit(said)) }, nil, 1},
		{"not: it left itself", func(l host.Listener) error {
			_ = l.Emit(said)
			synctest.Wait()
			return l.Emit(said)
		}, errors.New("broken pipe"), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			logged, response := &bytes.Buffer{}, stalled()
			if tt.write != nil {
				response.write = func() error { return tt.write }
			}
			if err := serve(t, response, slog.New(slog.NewTextHandler(logged, nil)), &lettersEncoder{}, tt.source); err != nil {
				t.Errorf("error %v", err)
			}
			if got := strings.Count(logged.String(), left); got != tt.logged || strings.Count(logged.String(), "\n") != tt.logged {
				t.Errorf("log %q, want %d lines", logged, tt.logged)
			}
		})
	}
}

// clumsy is the letters' encoder, which breaks at a stream's end.
type clumsy struct {
	lettersEncoder
	end func()
}

func (c *clumsy) Ended() bool                 { c.end(); return false }
func (c *clumsy) Fail(error) []protocol.Frame { panic("boom") }

// The client must not be told of its success in between: a heartbeat would be one.
func TestARefusalThatTakesItsTimeIsOne(t *testing.T) {
	rec := httptest.NewRecorder()
	err := serve(t, rec, quiet, &clumsy{end: func() { time.Sleep(time.Minute) }}, func(host.Listener) error { return nil })
	if !errors.Is(err, protocol.ErrUnfinished) || rec.Body.String() != "" {
		t.Errorf("error %v, body %q, want a refusal and nothing sent", err, rec.Body)
	}
}

func TestAPanicOfTheLastFramesIsLogged(t *testing.T) {
	rec, logged := httptest.NewRecorder(), &bytes.Buffer{}
	err := serve(t, rec, slog.New(slog.NewTextHandler(logged, nil)), &clumsy{end: func() {}}, func(l host.Listener) error { return l.Emit(said) })
	if err != nil || rec.Body.String() != "event: text\ndata: hi\n\n" || !strings.Contains(logged.String(), `error="panic: boom"`) || !strings.Contains(logged.String(), "serve_test.go") {
		t.Errorf("error %v, body %q, log %q", err, rec.Body, logged)
	}
}

// titled is the letters' encoder with a header of its own.
type titled struct{ lettersEncoder }

func (titled) Header() http.Header { return http.Header{"X-Title": {"a", "b"}} }

func TestAnEncodersHeaderGoesOutWithItsFrames(t *testing.T) {
	for _, sent := range []bool{true, false} {
		rec := httptest.NewRecorder()
		_ = serve(t, rec, quiet, &titled{}, func(l host.Listener) error {
			if sent {
				return l.Emit(said)
			}
			return nil
		})
		want := http.Header{}
		if sent {
			want = http.Header{
				"X-Title": {"a", "b"}, "Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"},
				"Connection": {"keep-alive"}, "X-Accel-Buffering": {"no"},
			}
		}
		if diff := cmp.Diff(want, rec.Result().Header); diff != "" {
			t.Errorf("sent %t: headers (-want +got):\n%s", sent, diff)
		}
	}
}

// A client that is gone is told nothing. One whose host stops is still there.
func TestACancelledRequestIsAnsweredOnlyWhenItsHostStops(t *testing.T) {
	const hi, sorry = "event: text\ndata: hi\n\n", "event: sorry\ndata: the service cannot answer now, try again\n\n"
	tests := []struct {
		name    string
		cause   error // nil: as net/http cancels the request of a client that left
		said    []core.Event
		refused bool
		body    string
	}{
		{"the client left", nil, nil, false, ""},
		{"the client left a stream", nil, []core.Event{said}, false, hi},
		{"the host stops", host.ErrStopping, nil, true, ""},
		{"the host stops a stream", host.ErrStopping, []core.Event{said}, false, hi + sorry},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				rec := httptest.NewRecorder()
				o := protocol.Server{Env: env.System(), Log: quiet}
				err := o.Serve(rec, httptest.NewRequest("GET", "/x", nil).WithContext(ctx), &lettersEncoder{}, func(l host.Listener) error {
					for _, e := range tt.said {
						if err := l.Emit(e); err != nil {
							t.Error(err)
						}
					}
					cancel(tt.cause)
					return fmt.Errorf("read head: %w", ctx.Err())
				})
				if (err != nil) != tt.refused || rec.Body.String() != tt.body {
					t.Errorf("error %v, body %q, want %q", err, rec.Body, tt.body)
				}
				if status := protocol.Status(protocol.Public(err).Code); tt.refused && status != 503 {
					t.Errorf("refused with status %d, want 503", status)
				}
			})
		})
	}
}

var quiet = slog.New(slog.DiscardHandler)

// submitter takes submissions and does nothing else.
type submitter struct {
	protocol.Host
	got     []mailbox.Submission
	refuse  error
	running bool
}

func (s *submitter) HasAgent(id string) bool { return id == "demo" }

func (s *submitter) DefaultAgent() string { return "demo" }

func (s *submitter) Submit(_ context.Context, submission mailbox.Submission) (mailbox.Receipt, error) {
	s.got = append(s.got, submission)
	return mailbox.Receipt{ThreadID: "t1", RunID: core.ID{15: 1}, DispatchID: core.ID{15: 2}, Running: s.running}, s.refuse
}

func TestABufferedTransportQueues(t *testing.T) {
	const ids = `"thread_id":"t1","run_id":"00000000-0000-0000-0000-000000000001","dispatch_id":"00000000-0000-0000-0000-000000000002"`
	path := func(r mailbox.Receipt) string { return "/runs/" + r.ThreadID }
	tests := []struct {
		name      string
		accept    string
		path      func(mailbox.Receipt) string
		runtime   submitter
		code      core.Code
		body      string
		submitted int
	}{
		{"queued", "", path, submitter{}, "", `{"status":"queued",` + ids + `,"stream_url":"https://stream.example/runs/t1"}`, 1},
		{"running", "", nil, submitter{running: true}, "", `{"status":"running",` + ids + `}`, 1},
		{"only a stream will do", "text/event-stream", path, submitter{}, core.CodeNotAcceptable, "", 0},
		{"only a stream, where there is none", "text/event-stream", nil, submitter{}, "", `{"status":"queued",` + ids + `}`, 1},
		{"refused", "", path, submitter{refuse: core.Errorf(core.CodeBusy, "busy")}, core.CodeBusy, "", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := protocol.Server{Host: &test.runtime, Buffered: true, StreamURL: "https://stream.example"}
			r := httptest.NewRequest("POST", "/", nil)
			r.Header.Set("Accept", test.accept)
			rec := httptest.NewRecorder()
			err := o.Queue(rec, r, mailbox.Submission{}, test.path)
			if code := core.CodeOf(err); code != test.code || strings.TrimSpace(rec.Body.String()) != test.body || len(test.runtime.got) != test.submitted {
				t.Errorf("code %q, body %s after %d submissions, want %q, %s after %d", code, rec.Body, len(test.runtime.got), test.code, test.body, test.submitted)
			}
			if test.code == "" && rec.Code != 202 {
				t.Errorf("status %d, want 202", rec.Code)
			}
		})
	}
}

func TestASubmissionIsCompleted(t *testing.T) {
	o := protocol.Server{Host: &submitter{}}
	tests := []struct {
		name, agent, thread string
		code                core.Code
		text                string
	}{
		{"default agent", "", "t1", "", ""},
		{"named agent", "demo", "t1", "", ""},
		{"unknown agent", "other", "t1", core.CodeNotFound, `agent "other" not found`},
		{"bad thread", "demo", "", core.CodeInvalid, "thread id is empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := mailbox.Submission{Opening: mailbox.Opening{AgentID: test.agent}, Messages: []core.Message{core.UserMessage("hi")}}
			s.Thread.Thread = test.thread
			err := o.Complete(&s, core.Identity{Tenant: "acme", User: "ann"})
			if core.CodeOf(err) != test.code || err != nil && err.Error() != test.text {
				t.Errorf("error %v, want %s", err, test.text)
			}
			if err == nil && (s.Thread.Tenant != "acme" || s.User != "ann" || s.Opening.AgentID != "demo") {
				t.Errorf("submission %+v", s)
			}
		})
	}
}

func TestWhatBelongsToOthersIsNotFound(t *testing.T) {
	other := core.Errorf(core.CodeFull, "full")
	if err := protocol.Hide(core.Errorf(core.CodeForbidden, "bob's"), "thread", "t1"); core.CodeOf(err) != core.CodeNotFound || err.Error() != "thread t1 not found" {
		t.Errorf("forbidden: %v", err)
	}
	if err := protocol.Hide(core.Errorf(core.CodeNotFound, "T#acme#t1")); err.Error() != "not found" {
		t.Errorf("not found: %v", err)
	}
	if err := protocol.Hide(other, "thread"); !errors.Is(err, other) || protocol.Hide(nil) != nil {
		t.Errorf("others: %v", err)
	}
}
