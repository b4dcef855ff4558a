package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/reveille-run/reveille/core"
)

// unrecorded is the reason for a deployment without usage records.
const unrecorded = skipped("the deployment records no usage")

// before is the usage of the caller when the command started.
type before struct {
	core.Usage
	from time.Time
	err  error
}

// checkUsage checks that the usage of the caller has grown by the tokens of the runs that were
// followed, at least: others may use the deployment at the same time.
func (s *smoke) checkUsage(ctx context.Context, _ string) error {
	if s.before.err != nil {
		return s.before.err
	}
	var want core.Usage
	for _, used := range s.used {
		want = want.Add(used)
	}
	if want.Input+want.Output == 0 {
		return fmt.Errorf("no run has used tokens")
	}
	ctx, cancel := context.WithTimeout(ctx, settles)
	defer cancel()
	var now core.Usage
	for looked := false; ; looked = true {
		next, err := s.usage(ctx, s.before.from)
		switch {
		case err == nil:
			now = next
		case !looked || ctx.Err() == nil:
			return err
		} // otherwise the time limit ended this request, and the previous one has the result
		input, output := now.Input-s.before.Input, now.Output-s.before.Output
		if input >= want.Input && output >= want.Output {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("GET /v1/usage has %d more input and %d more output tokens, want %d and %d of the runs", input, output, want.Input, want.Output)
		case <-time.After(time.Second):
		}
	}
}

// settles is the time within which the usage of a run must appear.
const settles = 15 * time.Second

// usage returns the usage of the caller on a day and the next. If the deployment records no
// usage, the error is unrecorded.
func (s *smoke) usage(ctx context.Context, day time.Time) (total core.Usage, err error) {
	path := "/v1/usage?from=" + day.Format(time.DateOnly) + "&to=" + day.AddDate(0, 0, 1).Format(time.DateOnly)
	r, err := s.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return total, err
	}
	response, err := s.http.Do(r)
	if err != nil {
		return total, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if response.StatusCode == http.StatusNotFound {
		return total, unrecorded
	}
	if err := wanted(r, response, http.StatusOK); err != nil {
		return total, err
	}
	var report struct {
		Rows []struct{ Tokens core.Usage }
	}
	if err := json.NewDecoder(response.Body).Decode(&report); err != nil {
		return total, fmt.Errorf("GET %s: %w", path, err)
	}
	for _, row := range report.Rows {
		total = total.Add(row.Tokens)
	}
	return total, nil
}
