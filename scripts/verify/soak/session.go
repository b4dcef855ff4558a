package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// session is the use of one thread, from its first input to its last response.
type session struct {
	*ledger
	*client
	r       *rand.Rand // of the thread's one client; streams have their own
	tally   *tally
	serial  int
	asked   chan struct{}  // something was asked that may make a run wait
	wait    sync.WaitGroup // the readers of streams
	decides sync.WaitGroup // the approver
}

// act does the next thing that the thread's client does.
func (s *session) act(ctx context.Context) {
	switch p := s.r.IntN(100); {
	case p < 74:
		in := s.compose()
		if in.Mode != modeQueue && s.r.IntN(2) == 0 {
			s.occupy(ctx)
		}
		s.submit(ctx, in)
	case p < 83:
		if in := s.earlier(s.r.IntN); in != nil {
			s.repeat(ctx, in)
		}
	case p < 87:
		s.occupy(ctx)
		s.cancel(ctx, "")
	case p < 94:
		s.occupy(ctx)
		if runs := s.runs(); len(runs) > 0 {
			s.cancel(ctx, runs[s.r.IntN(2)*(len(runs)-1)]) // the newest, or one that is over
		}
	default:
		s.resumeChat(ctx)
	}
}

// occupy gives the thread work for the next moments, at times with more queued work, so
// that modes and cancels meet a busy thread.
func (s *session) occupy(ctx context.Context) {
	for range 1 + s.r.IntN(2) {
		s.serial++
		id := fmt.Sprintf("%s.%d", s.Thread, s.serial)
		text := fmt.Sprintf("slow: %d", 3+s.r.IntN(4))
		s.submit(ctx, &input{Key: "k." + id, Door: doorMessages, Mode: modeQueue, Messages: []said{{id, text}}})
	}
	_ = pause(ctx, milliseconds(s.r, 5, 250)) // what follows looks at the context
}

// compose makes the next input.
func (s *session) compose() *input {
	s.serial++
	id := fmt.Sprintf("%s.%d", s.Thread, s.serial)
	in := &input{Key: "k." + id, Door: doorMessages, Mode: modeQueue, Messages: []said{{id, s.text(id)}}}
	if s.r.IntN(10) == 0 {
		in.Messages = []said{{id + ".a", "first of two"}, {id, s.text(id)}}
	}
	switch p := s.r.IntN(100); {
	case p < 22:
		in.Door, in.Key = doorChat, id
	case p < 42:
		in.Door = doorRuns
	}
	if in.Door == doorChat {
		return in
	}
	switch p := s.r.IntN(100); {
	case p < 25:
		in.Mode = modeSteer
	case p < 31:
		in.Mode = modeInterrupt
	case p < 43:
		in.Mode = modeReject
	}
	return in
}

// text is what an input asks for.
func (s *session) text(id string) string {
	switch p := s.r.IntN(100); {
	case p < 30:
		return "echo: " + id
	case p < 50:
		items := make([]string, 2+s.r.IntN(11)) // many calls make a long round, which a kill meets more often
		for i := range items {
			items[i] = fmt.Sprintf("%s-%d", id, i)
		}
		return "parallel: " + strings.Join(items, ", ")
	case p < 66:
		return fmt.Sprintf("slow: %d", 2+s.r.IntN(4))
	case p < 69:
		return fmt.Sprintf("slow: %d", 9+s.r.IntN(8))
	case p < 75:
		return "think: " + id
	case p < 78:
		return failing
	case p < 88:
		return asking + id
	}
	return "hello " + id
}

// request returns the bytes of an input, the same at every attempt.
func (s *session) request(in *input) request {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type message struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content,omitempty"`
		Parts   []part `json:"parts,omitempty"`
	}
	body := struct {
		ID       string    `json:"id,omitempty"`
		ThreadID string    `json:"threadId,omitempty"`
		Mode     string    `json:"mode,omitempty"`
		Messages []message `json:"messages"`
	}{}
	for _, m := range in.Messages {
		if in.Door == doorChat {
			body.Messages = append(body.Messages, message{ID: m.ID, Role: "user", Parts: []part{{"text", m.Text}}})
		} else {
			body.Messages = append(body.Messages, message{ID: m.ID, Role: "user", Content: m.Text})
		}
	}
	r := request{method: http.MethodPost, path: "/v1/ai-sdk/chat"}
	switch in.Door {
	case doorChat:
		body.ID = s.Thread
	case doorRuns:
		body.ThreadID, body.Mode = s.Thread, in.Mode
		r.path, r.key = "/v1/runs", in.Key
	default:
		body.Mode = in.Mode
		r.path, r.key = "/v1/threads/"+s.Thread+"/messages", in.Key
	}
	text, _ := json.Marshal(body) // strings always marshal
	r.body = string(text)
	return r
}

// submit sends an input until it has a definite response. At times the client
// loses its patience at once, or sends everything twice at the same time.
func (s *session) submit(ctx context.Context, in *input) {
	in.Sent = time.Now()
	s.add(in)
	s.tally.inputs.Add(1)
	in.Doubted = in.Mode != modeReject && s.r.IntN(10) == 0
	if in.Doubted && in.Door == doorMessages && s.r.IntN(2) == 0 {
		s.tally.repeated.Add(1)
		s.wait.Go(func() { s.try(ctx, in, false) })
	} else if in.Doubted {
		s.impatient(ctx, in)
	}
	defer s.look()
	for ctx.Err() == nil {
		if s.try(ctx, in, true) {
			return
		}
		_ = pause(ctx, retryPause) // the loop looks at the context
	}
}

// impatient sends an input and does not wait for the response.
func (s *session) impatient(ctx context.Context, in *input) {
	s.tally.repeated.Add(1)
	short, cancel := context.WithTimeout(ctx, milliseconds(s.r, 1, 15))
	defer cancel()
	if in.Door == doorMessages {
		s.try(short, in, false)
		return
	}
	if st, err := s.open(short, s.request(in)); err == nil && st.frames != nil {
		st.close()
	}
}

// repeat sends an acknowledged input again.
func (s *session) repeat(ctx context.Context, in *input) {
	s.tally.repeated.Add(1)
	s.note("repeat %s", in.Key)
	for ctx.Err() == nil && !s.try(ctx, in, true) {
		_ = pause(ctx, retryPause) // the loop looks at the context
	}
}

// try sends an input once; done is false if there was no definite response. The response
// to an attempt that is not judged matters only if it is a receipt.
func (s *session) try(ctx context.Context, in *input, judge bool) (done bool) {
	if in.Door != doorMessages {
		return s.tryStream(ctx, in)
	}
	a, err := s.client.try(ctx, s.request(in))
	if err != nil || a.passing() {
		return false
	}
	if a.status != http.StatusAccepted {
		if !judge {
			return false
		}
		return s.refused(in, a)
	}
	var r struct {
		Run      string `json:"run_id"`
		Dispatch string `json:"dispatch_id"`
	}
	if err := json.Unmarshal(a.body, &r); err != nil || r.Run == "" || r.Dispatch == "" {
		s.fault(kindRefused, "input %s: the receipt is %s", in.Key, a)
		return true
	}
	s.note("%s %s %s %q: run %s, dispatch %s", in.Door, in.Mode, in.Key, in.Messages[len(in.Messages)-1].Text, r.Run, r.Dispatch)
	s.receipt(in, r.Run, r.Dispatch)
	if judge {
		s.tally.accepted(in)
	}
	if judge && s.r.IntN(4) == 0 {
		s.watch(ctx, r.Run)
	}
	return true
}

// refused takes a definite refusal. A client whose input came at the wrong time
// may queue it instead, under the same key: a refusal has used nothing up.
func (s *session) refused(in *input, a reply) bool {
	code, acked := a.code(), s.known(in)
	if acked || (code != "busy" || in.Mode != modeReject) && code != "full" {
		s.fault(kindRefused, "input %s (%s, %s, acknowledged: %v) gets %s", in.Key, in.Door, in.Mode, acked, a)
		return true
	}
	s.tally.refused.Add(1)
	if in.Doubted {
		return false // another attempt may still be running and be accepted
	}
	s.note("%s %s %s: refused, %s", in.Door, in.Mode, in.Key, code)
	if code == "busy" && s.r.IntN(2) == 0 {
		in.Mode = modeQueue
		return false
	}
	in.Refused = code
	return true
}

// cancel ends a run, or the current run. It repeats the request until a response confirms
// the end, or that there is no run to end.
func (s *session) cancel(ctx context.Context, run string) {
	path := "/v1/threads/" + s.Thread + "/cancel"
	if run != "" {
		path = "/v1/runs/" + run + "/cancel"
	}
	for ctx.Err() == nil {
		c := s.cancelling(run)
		a, err := s.client.try(ctx, request{method: http.MethodPost, path: path})
		switch {
		case err != nil || a.passing():
			_ = pause(ctx, retryPause) // the loop looks at the context
			continue
		case a.status == http.StatusAccepted:
			c.Done = true
			s.tally.cancels.Add(1)
		case a.status != http.StatusNotFound:
			s.fault(kindRefused, "the cancel of %q gets %s", run, a)
		}
		s.note("cancel %q: %d", run, a.status)
		return
	}
}

// rest waits until nothing runs on the thread. It returns false when the time is
// over; impatient is done when no more disturbance is to be expected.
func (s *session) rest(ctx context.Context, impatient context.Context, within time.Duration) bool {
	var deadline time.Time
	for ctx.Err() == nil {
		a, err := s.ask(ctx, request{method: http.MethodGet, path: "/v1/threads/" + s.Thread})
		if err != nil {
			return false
		}
		var t struct {
			Active *struct{} `json:"active_run"`
			Queued int
		}
		if a.status == http.StatusNotFound || json.Unmarshal(a.body, &t) == nil && t.Active == nil && t.Queued == 0 {
			return true
		}
		if impatient.Err() != nil && deadline.IsZero() {
			deadline = time.Now().Add(within)
		}
		s.look()
		if !deadline.IsZero() && time.Now().After(deadline) {
			s.fault(kindUnfinished, "the thread does not become idle: %s", strings.TrimSpace(string(a.body)))
			return false
		}
		_ = pause(ctx, 150*time.Millisecond) // the loop looks at the context
	}
	return false
}
