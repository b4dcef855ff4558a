package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// followed has the figures of idle followers.
type followed struct {
	errs      []error // of each
	processor float64 // seconds of processors that the host has used
	took      time.Duration
	grown     float64 // bytes of the host's memory
}

const (
	starters = 32          // requests at once that make runs
	openTime = time.Minute // for all followers to be there
)

// follow opens the followers, each of a separate run, and measures the idle host.
func (c *client) follow(ctx context.Context, followers int, watch time.Duration) (*followed, error) {
	runs, err := c.later(ctx, followers)
	if err != nil {
		return nil, err
	}
	before, err := c.metrics(ctx)
	if err != nil {
		return nil, err
	}
	f := &followed{errs: make([]error, followers)}
	idle, leave := context.WithCancel(ctx)
	var wait sync.WaitGroup
	for i, run := range runs {
		wait.Go(func() { f.errs[i] = c.oneFollower(idle, run) })
	}
	err = f.watch(ctx, c, followers, watch, before)
	leave()
	wait.Wait()
	return f, err
}

// watch waits until all followers are there, and for a while longer.
func (f *followed) watch(ctx context.Context, c *client, followers int, watch time.Duration, before metrics) error {
	begin, err := c.until(ctx, openTime, func(m metrics) bool { return m.followers >= float64(followers) })
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause(ctx, watch); err != nil {
		return err
	}
	end, err := c.metrics(ctx)
	if err != nil {
		return err
	}
	f.took, f.processor, f.grown = time.Since(began), end.processor-begin.processor, end.resident-before.resident
	if end.followers < float64(followers) {
		return fmt.Errorf("of %d followers %v are left", followers, end.followers)
	}
	return nil
}

// later makes runs that are not due for an hour, each on a separate thread, and returns
// their ids.
func (c *client) later(ctx context.Context, n int) ([]string, error) {
	runs, errs := make([]string, n), make([]error, n)
	var wait sync.WaitGroup
	for first := range min(starters, n) {
		wait.Go(func() {
			for i := first; i < n; i += starters {
				runs[i], errs[i] = c.oneLater(ctx, i)
			}
		})
	}
	wait.Wait()
	return runs, failures("submissions", n, func(i int) error { return errs[i] })
}

func (c *client) oneLater(ctx context.Context, i int) (string, error) {
	response, err := c.send(ctx, http.StatusAccepted, http.MethodPost, fmt.Sprintf("/v1/threads/idle-%d/messages", i),
		`{"delay_ms":3600000,"messages":[{"role":"user","content":"hi"}]}`)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	return runID(text)
}

// oneFollower reads the stream of a run until its context ends. A stream that ends earlier
// is an error.
func (c *client) oneFollower(ctx context.Context, run string) error {
	response, err := c.send(ctx, http.StatusOK, http.MethodGet, "/v1/runs/"+run+"/events/stream", "")
	if err == nil {
		defer response.Body.Close()
		err = events(response.Body, func(data []byte) error {
			e, err := parse(data)
			if err == nil && e.Type == "error" {
				err = errors.New("the stream has an error: " + e.Error)
			}
			return err
		})
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		return errors.New("the stream ended while its run waits")
	}
	return err
}

func (f *followed) err() error {
	return failures("followers", len(f.errs), func(i int) error { return f.errs[i] })
}

func (f *followed) report(w io.Writer) {
	fmt.Fprintf(w, "%d idle followers for %s\n", len(f.errs), f.took.Round(time.Second))
	fmt.Fprintf(w, "  processor           %.1f %% of one\n", 100*f.processor/f.took.Seconds())
	fmt.Fprintf(w, "  memory of each      %.0f KB\n", f.grown/float64(len(f.errs))/1024)
}
