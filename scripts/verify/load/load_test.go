package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// frames is a stream of events without their numbers, which are added.
func frames(events ...string) string {
	var b strings.Builder
	for i, e := range events {
		fmt.Fprintf(&b, "id: r.%d\ndata: {\"sequence\":%d,%s}\n\n: heartbeat\n\n", i, i+1, e)
	}
	return b.String()
}

const (
	start  = `"event_type":"run_start","time":"2026-01-01T00:00:00.000Z"`
	finish = `"event_type":"run_finish","termination":{"type":"natural_end"}`
)

func delta(text string, at time.Time) string {
	return fmt.Sprintf(`"event_type":"text_delta","delta":%q,"time":%q`, text, at.UTC().Format(time.RFC3339Nano))
}

func TestAStreamMustBeWhole(t *testing.T) {
	now := time.Now()
	w1, w2 := delta("w1", now), delta(" w2", now)
	tests := []struct{ name, body, want string }{
		{"whole", frames(start, w1, w2, finish), ""},
		{"one delta for both", frames(start, delta("w1 w2", now), finish), ""},
		{"nothing", "", `the stream ends with "" "" after 0 events`},
		{"cut", frames(start, w1, w2), `the stream ends with "text_delta" "" after 3 events`},
		{"another end", frames(start, w1, w2, `"event_type":"run_finish","termination":{"type":"cancelled"}`), `the stream ends with "run_finish" "cancelled" after 4 events`},
		{"handed over", frames(start, w1, `"event_type":"run_yield"`), `the stream ends with "run_yield" "" after 3 events`},
		{"a word is missing", frames(start, w2, finish), `the stream says " w2"`},
		{"a word twice", frames(start, w1, w1, w2, finish), `the stream says "w1w1 w2"`},
		{"an error", frames(start, w1, `"event_type":"error","error":"internal error"`), `the stream has an error: internal error`},
		{"an event is missing", frames(start) + strings.Replace(frames(w1), `"sequence":1`, `"sequence":3`, 1), `event 2 has the number 3`},
		{"something behind the end", frames(start, w1, w2, finish, start), `run_start comes after the end`},
		{"no JSON", "data: {\n\n", `an event is not JSON: unexpected end of JSON input`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s oneStream
			got := ""
			if err := s.read(strings.NewReader(tt.body), now, 2); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheTimesOfAStream(t *testing.T) {
	now := time.Now()
	body := frames(start, delta("w1", now.Add(-2*time.Second)), delta(" w2", now.Add(-time.Hour)), finish)
	var s oneStream
	if err := s.read(strings.NewReader(body), now.Add(-time.Minute), 2); err != nil {
		t.Fatal(err)
	}
	const late = 10 * time.Second // what a busy machine may add
	within := func(name string, got, want time.Duration) {
		if got < want || got > want+late {
			t.Errorf("%s %s, want %s", name, got, want)
		}
	}
	within("first byte", s.first, time.Minute)
	if len(s.delays) != 2 {
		t.Fatalf("delays %v", s.delays)
	}
	within("first delta", s.delays[0], 2*time.Second)
	within("second delta", s.delays[1], time.Hour)
}

func TestPercentile(t *testing.T) {
	ms := func(values ...int) (all []time.Duration) {
		for _, v := range values {
			all = append(all, time.Duration(v)*time.Millisecond)
		}
		return all
	}
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[99-i] = time.Duration(i+1) * time.Millisecond
	}
	tests := []struct {
		values  []time.Duration
		percent int
		want    time.Duration
	}{
		{nil, 99, 0}, {ms(7), 1, 7 * time.Millisecond}, {ms(3, 1, 2), 50, 2 * time.Millisecond}, {ms(3, 1, 2), 100, 3 * time.Millisecond},
		{hundred, 95, 95 * time.Millisecond}, {hundred, 99, 99 * time.Millisecond}, {hundred, 100, 100 * time.Millisecond}, {hundred, 50, 50 * time.Millisecond},
	}
	for _, tt := range tests {
		if got := percentile(tt.values, tt.percent); got != tt.want {
			t.Errorf("percentile %d of %d values is %s, want %s", tt.percent, len(tt.values), got, tt.want)
		}
	}
}

func TestThePrintedFigures(t *testing.T) {
	var b strings.Builder
	s := &streamed{words: 50, took: 5120 * time.Millisecond, grown: 300 * 1024, streams: []oneStream{
		{first: 10 * time.Millisecond, delays: []time.Duration{time.Millisecond, 3 * time.Millisecond}},
		{first: 20 * time.Millisecond, delays: []time.Duration{2 * time.Millisecond}},
		{first: time.Hour, err: errors.New("cut")},
	}}
	s.report(&b)
	(&followed{errs: make([]error, 2), processor: 0.3, took: 30 * time.Second, grown: 50 * 1024}).report(&b)
	want := `3 streams of 50 words at once, in 5.12s: 1 failed
  first byte          p50 10ms     p95 20ms     worst 20ms
  delay of a delta    p50 2ms      p99 3ms      worst 3ms, of 3 deltas
  memory of a stream  100 KB
2 idle followers for 30s
  processor           1.0 % of one
  memory of each      25 KB
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if err := s.err(); err == nil || err.Error() != "1 of 3 streams failed, the first: cut" {
		t.Errorf("error %v", err)
	}
}

// pretender is a host as far as load looks.
type pretender struct {
	resident  atomic.Int64
	followers atomic.Int64
	leaves    bool // it ends streams of followers
}

func (p *pretender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/metrics":
		fmt.Fprintf(w, "# HELP x y\nprocess_resident_memory_bytes %d\nprocess_cpu_seconds_total 1.5\nreveille_streams_open 0\nreveille_followers %d\n", p.resident.Load(), p.followers.Load())
	case r.URL.Path == "/v1/runs":
		p.resident.Store(3 << 20)
		_, _ = fmt.Fprint(w, frames(start, delta("w1", time.Now()), finish))
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"run_id":%q}`, strings.Split(r.URL.Path, "/")[3])
	case p.leaves && strings.Contains(r.URL.Path, "idle-1/"):
		p.followers.Add(1)
	default:
		p.followers.Add(1)
		_, _ = fmt.Fprint(w, frames(start))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func TestStreamsAndFollowersAreMeasured(t *testing.T) {
	p := &pretender{}
	p.resident.Store(1 << 20)
	server := httptest.NewServer(p)
	defer server.Close()
	c := newClient(server.URL)
	s, err := c.stream(t.Context(), 8, 1)
	if err != nil || s.err() != nil || s.grown != 2<<20 || len(s.streams) != 8 || len(s.streams[7].delays) != 1 {
		t.Errorf("streams %+v, error %v", s, err)
	}
	f, err := c.follow(t.Context(), 40, 10*time.Millisecond)
	if err != nil || f.err() != nil || len(f.errs) != 40 || f.took < 10*time.Millisecond || f.processor != 0 {
		t.Errorf("followers %+v, error %v", f, err)
	}
}

func TestAFollowerThatIsSentAwayIsAnError(t *testing.T) {
	server := httptest.NewServer(&pretender{leaves: true})
	defer server.Close()
	f, err := newClient(server.URL).follow(t.Context(), 3, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.err(); err == nil || err.Error() != "1 of 3 followers failed, the first: the stream ended while its run waits" {
		t.Errorf("error %v", err)
	}
}

func TestWhatAHostRefusesIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			fmt.Fprint(w, "reveille_streams_open 1\n")
			return
		}
		http.Error(w, "full", http.StatusTooManyRequests)
	}))
	defer server.Close()
	c := newClient(server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := c.metrics(ctx); err == nil || !strings.HasPrefix(err.Error(), "the host lacks a metric") {
		t.Errorf("error %v", err)
	}
	if s := c.oneStream(ctx, 1); s.err == nil || s.err.Error() != "POST /v1/runs: status 429, want 200: full\n" {
		t.Errorf("error %v", s.err)
	}
	if _, err := c.later(ctx, 2); err == nil || err.Error() != "2 of 2 submissions failed, the first: POST /v1/threads/idle-0/messages: status 429, want 202: full\n" {
		t.Errorf("error %v", err)
	}
	if _, err := runID([]byte(`{}`)); err == nil || err.Error() != "the receipt names no run: {}" {
		t.Errorf("error %v", err)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []options{{}, {streams: 1, words: 601, watch: 1}, {streams: 1, words: 1, idle: -1, watch: 1}, {streams: 1, words: 1}} {
		if err := run(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "at least one stream") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}
