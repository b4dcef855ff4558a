package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// streamed has the figures of many concurrent streams.
type streamed struct {
	words   int
	streams []oneStream
	grown   float64       // bytes of the host's memory, from before them to their middle
	took    time.Duration // all of them
}

// oneStream has the figures of a stream.
type oneStream struct {
	first  time.Duration   // until its first byte
	delays []time.Duration // of its deltas
	err    error
}

// stream asks for the streams, all at once.
func (c *client) stream(ctx context.Context, streams, words int) (*streamed, error) {
	before, err := c.metrics(ctx)
	if err != nil {
		return nil, err
	}
	s := &streamed{words: words, streams: make([]oneStream, streams)}
	began := time.Now()
	var wait sync.WaitGroup
	for i := range s.streams {
		wait.Go(func() { s.streams[i] = c.oneStream(ctx, words) })
	}
	var middle metrics
	var middleErr error
	wait.Go(func() {
		if middleErr = pause(ctx, time.Duration(words)*wordTime/2); middleErr == nil {
			middle, middleErr = c.metrics(ctx)
		}
	})
	wait.Wait()
	s.took, s.grown = time.Since(began), middle.resident-before.resident
	return s, middleErr
}

// wordTime is how long the scripted model takes for a word of "slow".
const wordTime = 100 * time.Millisecond

// oneStream asks for a stream and reads it to its end.
func (c *client) oneStream(ctx context.Context, words int) (s oneStream) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(words)*wordTime+time.Minute)
	defer cancel()
	sent := time.Now()
	response, err := c.send(ctx, http.StatusOK, http.MethodPost, "/v1/runs", fmt.Sprintf(`{"messages":[{"role":"user","content":"slow: %d"}]}`, words))
	if err != nil {
		s.err = err
		return s
	}
	defer response.Body.Close()
	s.err = s.read(response.Body, sent, words)
	return s
}

// read reads a stream that was asked for at a moment, and checks that it is whole.
func (s *oneStream) read(body io.Reader, sent time.Time, words int) error {
	var text strings.Builder
	var last event
	number := 0
	err := events(body, func(data []byte) error {
		now := time.Now()
		if number++; number == 1 {
			s.first = now.Sub(sent)
		}
		e, err := parse(data)
		switch {
		case err != nil:
			return err
		case last.Type == "run_finish":
			return fmt.Errorf("%s comes after the end", e.Type)
		case e.Sequence != number:
			return fmt.Errorf("event %d has the number %d", number, e.Sequence)
		case e.Type == "error":
			return errors.New("the stream has an error: " + e.Error)
		case e.Type == "text_delta":
			text.WriteString(e.Delta)
			s.delays = append(s.delays, now.Sub(e.Time))
		}
		last = e
		return nil
	})
	switch {
	case err != nil:
		return err
	case last.Type != "run_finish" || last.Termination.Type != "natural_end":
		return fmt.Errorf("the stream ends with %q %q after %d events", last.Type, last.Termination.Type, number)
	case text.String() != said(words):
		return fmt.Errorf("the stream says %q", text.String())
	}
	return nil
}

// said is what the scripted model says to "slow".
func said(words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, " w%d", i+1)
	}
	return b.String()[1:]
}

// err is that of the first stream that failed.
func (s *streamed) err() error {
	return failures("streams", len(s.streams), func(i int) error { return s.streams[i].err })
}

// failures returns an error with the number of failures and the first of them.
func failures(what string, all int, of func(int) error) error {
	var first error
	n := 0
	for i := range all {
		if err := of(i); err != nil {
			if n++; first == nil {
				first = err
			}
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d %s failed, the first: %w", n, all, what, first)
}

func (s *streamed) report(w io.Writer) {
	var firsts, delays []time.Duration
	failed := 0
	for _, one := range s.streams {
		if one.err != nil {
			failed++
			continue
		}
		firsts, delays = append(firsts, one.first), append(delays, one.delays...)
	}
	fmt.Fprintf(w, "%d streams of %d words at once, in %s: %d failed\n", len(s.streams), s.words, s.took.Round(10*time.Millisecond), failed)
	fmt.Fprintf(w, "  first byte          p50 %-8s p95 %-8s worst %s\n", percentile(firsts, 50), percentile(firsts, 95), percentile(firsts, 100))
	fmt.Fprintf(w, "  delay of a delta    p50 %-8s p99 %-8s worst %s, of %d deltas\n", percentile(delays, 50), percentile(delays, 99), percentile(delays, 100), len(delays))
	fmt.Fprintf(w, "  memory of a stream  %.0f KB\n", s.grown/float64(len(s.streams))/1024)
}

// percentile is the value that so many percent are not above, to the millisecond; 0 of
// none.
func percentile(values []time.Duration, percent int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := (len(sorted)*percent + 99) / 100 // rounded up
	return sorted[max(n, 1)-1].Round(time.Millisecond)
}
