package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
)

// smoke is a deployment, and the messages for its agent.
type smoke struct {
	client
	url, agent                 string
	chat, tool, approval, long string
	trigger                    fired
	before                     before
	prefix                     string // of thread ids
}

// skipped is the reason for a skipped check.
type skipped string

// Error implements error.
func (s skipped) Error() string { return string(s) }

// each runs every check and returns one error with the number of failures.
func (s *smoke) each(ctx context.Context, limit time.Duration, out io.Writer) error {
	checks := []struct {
		name  string
		check func(ctx context.Context, id string) error
	}{
		{"health", s.checkHealth},
		{"chat", s.onThread(s.checkChat)}, {"tool", s.onThread(s.checkTool)}, {"approval", s.onThread(s.checkApproval)}, {"resume", s.onThread(s.checkResume)},
		{"trigger", s.checkTrigger}, {"usage", s.checkUsage},
	}
	s.before.from = time.Now().UTC()
	s.before.Usage, s.before.err = s.usage(ctx, s.before.from)
	done, failed := 0, 0
	for _, c := range checks {
		start := time.Now()
		within, cancel := context.WithTimeout(ctx, limit)
		err := c.check(within, s.prefix+c.name)
		cancel()
		var none skipped
		outcome := "ok"
		if errors.As(err, &none) {
			outcome = "skipped: " + none.Error()
		} else {
			done++
			if err != nil {
				failed++
				outcome = "FAILED: " + err.Error()
			}
		}
		fmt.Fprintf(out, "%-8s %5.1f s  %s\n", c.name, time.Since(start).Seconds(), outcome)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks of %s failed", failed, done, s.url)
	}
	return nil
}

// onThread runs a check on a new thread, which it deletes afterwards.
func (s *smoke) onThread(check func(ctx context.Context, thread string) error) func(context.Context, string) error {
	return func(ctx context.Context, thread string) error {
		return errors.Join(check(ctx, thread), s.forget(ctx, thread))
	}
}

// forget deletes the thread of a check, also after its time limit. If the check failed early,
// the thread may not exist.
func (s *smoke) forget(ctx context.Context, thread string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	response, err := s.send(ctx, http.MethodDelete, "/v1/threads/"+thread, nil, "", http.StatusNoContent)
	if err != nil {
		return fmt.Errorf("delete the thread of the check: %w", err)
	}
	return response.Body.Close()
}

func (s *smoke) checkHealth(ctx context.Context, _ string) error {
	return s.call(ctx, http.MethodGet, "/health", nil, http.StatusOK, nil)
}

// checkChat gets a text from the agent.
func (s *smoke) checkChat(ctx context.Context, thread string) error {
	run, err := s.run(ctx, thread, s.agent, s.chat, nil)
	if err != nil {
		return err
	}
	if end := run.end(); end.Response == "" {
		return fmt.Errorf("the agent returned no text for %q: %s", s.chat, told(end))
	}
	return ended(run)
}

// checkTool makes the agent call a tool and waits for its result.
func (s *smoke) checkTool(ctx context.Context, thread string) error {
	run, err := s.run(ctx, thread, s.agent, s.tool, nil)
	if err != nil {
		return err
	}
	if done := run.count(core.EventToolCallDone); done == 0 {
		return fmt.Errorf("the agent called no tool for %q", s.tool)
	}
	return ended(run)
}

// checkApproval makes the agent call a tool that waits, approves the call, and waits for its result.
func (s *smoke) checkApproval(ctx context.Context, thread string) error {
	run, err := s.run(ctx, thread, s.agent, s.approval, nil)
	if err != nil {
		return err
	}
	if done := run.count(core.EventToolCallDone); done != 0 || run.end().Termination == nil || run.end().Termination.Type != core.TerminationSuspended {
		return fmt.Errorf("the run does not wait for approval after %q: %s, and %d calls are done", s.approval, told(run.end()), done)
	}
	path := "/v1/runs/" + run.events[0].RunID.String()
	var record struct{ Tickets []core.Ticket }
	if err := s.call(ctx, http.MethodGet, path, nil, http.StatusOK, &record); err != nil {
		return err
	}
	if len(record.Tickets) != 1 {
		return fmt.Errorf("the run has %d tickets, want 1", len(record.Tickets))
	}
	decision := map[string]string{"tool_call_id": record.Tickets[0].CallID, "action": "resume", "decision_id": thread}
	if err := s.call(ctx, http.MethodPost, path+"/decision", decision, http.StatusAccepted, nil); err != nil {
		return err
	}
	again := &seen{events: run.events[:1], last: run.last}
	if err := s.follow(ctx, again); err != nil {
		return err
	}
	if done := again.count(core.EventToolCallDone); done != 1 {
		return fmt.Errorf("%d calls are done after the approval, want 1", done)
	}
	return ended(again)
}

// checkResume interrupts a stream in the middle of a response and resumes it: both parts
// together must be the response.
func (s *smoke) checkResume(ctx context.Context, thread string) error {
	cut := false
	run, err := s.run(ctx, thread, s.agent, s.long, func(e core.Event) bool {
		cut = cut || e.Type == core.EventTextDelta
		return cut
	})
	if err != nil {
		return err
	}
	if !cut {
		return fmt.Errorf("the agent returned no text for %q", s.long)
	}
	var text strings.Builder
	for _, e := range run.events {
		switch e.Type {
		case core.EventTextDelta:
			text.WriteString(e.Delta)
		case core.EventStepRestarted:
			text.Reset()
		}
	}
	if end := run.end(); end.Response != text.String() {
		return fmt.Errorf("the texts of %d streams are %q, the response is %q", run.returns+1, text.String(), end.Response)
	}
	return ended(run)
}

func (s *seen) count(kind core.EventType) (n int) {
	for _, e := range s.events {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// ended returns an error unless the run has ended naturally.
func ended(run *seen) error {
	if t := run.end().Termination; t == nil || t.Type != core.TerminationNatural {
		return fmt.Errorf("the run has not ended naturally: %s", told(run.end()))
	}
	return nil
}

// told describes how a run ended.
func told(end core.Event) string {
	if end.Termination == nil {
		return "its last event is " + string(end.Type)
	}
	t := end.Termination
	return strings.TrimSpace(fmt.Sprintf("it ended with %s %s %s", t.Type, t.Code, t.Detail))
}
