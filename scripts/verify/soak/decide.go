package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
)

// asking begins the messages for which the model calls the tool danger, which waits
// until a person has approved it.
const asking = "approve: "

// verdict is what the thread's person said about a call of danger.
type verdict struct {
	Run, Text string // the call's, by the text that it was asked to act on: no two are alike
	Approved  bool
	Done      bool // it was acknowledged
}

// look tells the approver that something was asked that may make a run wait.
func (s *session) look() {
	select {
	case s.asked <- struct{}{}:
	default: // it has not read the list since its last notification
	}
}

// approver is the person who decides the tickets of the thread, as long as the thread is
// in use. It reads the tickets after each request that can make a run wait, and until the
// thread is idle.
func (s *session) approver(ctx context.Context, r *rand.Rand) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.asked:
		}
		for ctx.Err() == nil && s.decideAll(ctx, r) {
			_ = pause(ctx, milliseconds(r, 50, 400)) // the loop looks at the context
		}
	}
}

// decideAll decides everything that the thread's run waits for; busy is false when
// nothing runs.
func (s *session) decideAll(ctx context.Context, r *rand.Rand) (busy bool) {
	a, err := s.ask(ctx, request{method: http.MethodGet, path: "/v1/threads/" + s.Thread})
	if err != nil {
		return false
	}
	var t struct {
		Active *struct {
			Run    string `json:"run_id"`
			Status string
		} `json:"active_run"`
		Queued int
	}
	if json.Unmarshal(a.body, &t) != nil || t.Active == nil {
		return t.Queued > 0
	}
	if t.Active.Status != "waiting" {
		return true
	}
	if a, err = s.ask(ctx, request{method: http.MethodGet, path: "/v1/runs/" + t.Active.Run}); err != nil {
		return false
	}
	var waiting struct {
		Tickets []struct {
			Call      string `json:"tool_call_id"`
			Arguments json.RawMessage
			Decision  *struct{}
		}
	}
	if err := json.Unmarshal(a.body, &waiting); err != nil {
		s.fault(kindDecided, "run %s, which waits, is %s", t.Active.Run, a)
		return false
	}
	for _, ticket := range waiting.Tickets {
		if ticket.Decision == nil {
			s.decide(ctx, r, t.Active.Run, ticket.Call, echoed(ticket.Arguments))
		}
	}
	return true
}

// decide repeats one decision on a call until it has a definite response. A decision cannot
// be withdrawn, and its repetition changes nothing. A call that can no longer be decided was
// cancelled, or superseded by newer input.
func (s *session) decide(ctx context.Context, r *rand.Rand, run, call, text string) {
	v := s.deciding(run, text, r.IntN(4) > 0)
	body := fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","payload":{"approved":%v},"decision_id":%q}`, call, v.Approved, "d."+text)
	path := "/v1/runs/" + run + "/decision"
	if r.IntN(3) == 0 {
		path = "/v1/threads/" + s.Thread + "/decision"
	}
	again := r.IntN(5) == 0 // a person pressed the button twice
	for ctx.Err() == nil {
		a, err := s.client.try(ctx, request{method: http.MethodPost, path: path, body: body})
		switch {
		case err != nil || a.passing():
			_ = pause(ctx, retryPause) // the loop looks at the context
			continue
		case a.status == http.StatusAccepted:
			s.decided(v)
			s.tally.decisions.Add(1)
			if again {
				again = false
				continue
			}
		case a.status != http.StatusNotFound && a.status != http.StatusConflict:
			s.fault(kindDecided, "the decision on %s of run %s gets %s", text, run, a)
		}
		s.note("decide %s of run %s, approved %v: %d", text, run, v.Approved, a.status)
		return
	}
}

// deciding records a decision before it is sent first; the first one stays.
func (l *ledger) deciding(run, text string, approved bool) *verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.verdicts == nil {
		l.verdicts = map[string]*verdict{}
	}
	v := l.verdicts[text]
	if v == nil {
		v = &verdict{Run: run, Text: text, Approved: approved}
		l.verdicts[text] = v
	}
	return v
}

func (l *ledger) decided(v *verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v.Done = true
}

// checkDecision compares the result of a call of danger with its decision. An approved call
// has its tool's result, and a denied one has none. An undecided call was cancelled by an
// end of the run, or superseded by newer input.
func (v *view) checkDecision(m message, text string) {
	said, how := v.verdicts[text], v.Runs[m.Run].how()
	if !m.Result.IsError {
		if said == nil || !said.Approved {
			v.violated(kindDecided, "call %s of run %s was executed without an approval", text, m.Run)
		}
		v.checkResult(m, text)
		return
	}
	switch denied := m.Result.Status == "denied"; {
	case denied && (said == nil || said.Approved):
		v.violated(kindDecided, "call %s of run %s was denied without a decision", text, m.Run)
	case !denied && said != nil && said.Done && how == "natural_end":
		v.violated(kindDecided, "call %s of run %s was decided (approved: %v), acknowledged, and its result is %q of status %s", text, m.Run, said.Approved, m.result(), m.Result.Status)
	case !denied && m.Result.Status != "cancelled" && how == "natural_end":
		v.violated(kindDecided, "call %s of run %s was not decided, and its result is %q of status %s", text, m.Run, m.result(), m.Result.Status)
	}
}
