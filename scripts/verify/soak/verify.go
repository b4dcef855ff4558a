package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// gather reads the current thread.
func (s *session) gather(ctx context.Context) (*view, error) {
	v := &view{ledger: s.ledger, Runs: map[string]record{}, Kills: s.host.killsBetween, Executed: s.host.executed}
	if err := s.log(ctx, v); err != nil {
		return nil, err
	}
	wanted := s.runs()
	for _, m := range v.Messages {
		wanted = append(wanted, m.Run)
	}
	for _, run := range wanted {
		if _, ok := v.Runs[run]; ok {
			continue
		}
		a, err := s.ask(ctx, request{method: http.MethodGet, path: "/v1/runs/" + run})
		if err != nil {
			return nil, err
		}
		var r record
		if a.status != http.StatusOK {
			r.Status = a.String() // checked as a run that is not done
		} else if err := json.Unmarshal(a.body, &r); err != nil {
			return nil, fmt.Errorf("run %s: %w", run, err)
		}
		v.Runs[run] = r
	}
	return v, s.host.collect()
}

// log reads all messages, in pages.
func (s *session) log(ctx context.Context, v *view) error {
	for cursor := ""; ; {
		path := "/v1/threads/" + s.Thread + "/messages?limit=200"
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		a, err := s.ask(ctx, request{method: http.MethodGet, path: path})
		if err != nil {
			return err
		}
		if a.status == http.StatusNotFound {
			return nil // nothing was ever accepted
		}
		var page struct {
			Messages []message
			Next     *string `json:"next_cursor"`
		}
		if a.status != http.StatusOK || json.Unmarshal(a.body, &page) != nil {
			s.fault(kindLost, "the messages are %s", a)
			return nil
		}
		v.Messages = append(v.Messages, page.Messages...)
		if page.Next == nil {
			return nil
		}
		cursor = *page.Next
	}
}

// patience is how long a thread may take to become what it must be after it
// looks at rest: a run that is closing is shown as done before its last write.
const patience = 10 * time.Second

// verify judges an idle thread. A violation must be permanent.
func (s *session) verify(ctx context.Context) (*view, []violation, error) {
	for deadline := time.Now().Add(patience); ; {
		v, err := s.gather(ctx)
		if err != nil {
			return nil, nil, err
		}
		found := v.check()
		if len(found) == 0 || time.Now().After(deadline) && s.settled(ctx, v) {
			return v, found, nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return v, found, err
		}
	}
}

// settled requests the outcome of steered input that is in no log: the run that took it
// over may be unknown to all clients. It is false if there is news.
func (s *session) settled(ctx context.Context, v *view) bool {
	at := v.places()
	news := false
	for _, in := range v.inputs {
		last := in.Messages[len(in.Messages)-1].ID
		s.mu.Lock()
		steered := s.steered(in)
		s.mu.Unlock()
		if !in.Acked || !steered || len(at[last]) > 0 || v.ended(in) {
			continue
		}
		known := len(in.Runs)
		s.note("ask what became of %s", in.Key)
		s.repeat(ctx, in)
		if len(in.Runs) == known {
			continue
		}
		run := in.Runs[len(in.Runs)-1]
		a, err := s.ask(ctx, request{method: http.MethodGet, path: "/v1/runs/" + run})
		var r record
		if err != nil || json.Unmarshal(a.body, &r) != nil || !r.dropped() {
			s.fault(kindLost, "input %s was gone when its run had ended; its repetition became run %s", in.Key, run)
			in.Runs = in.Runs[:known]
		}
		news = true
	}
	return !news
}

// report prints everything about a thread.
func (s *session) report(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf("--- thread %s: what its clients did\n%s\n", s.Thread, strings.Join(s.history, "\n"))
	if v != nil {
		fmt.Println("--- its log")
		for i, m := range v.Messages {
			line := m.turn().String()
			if m.Result != nil {
				line = fmt.Sprintf("%s = %q", m.Result.CallID, m.result())
			}
			fmt.Printf("%4d %-9s run %s step %d id %s %s\n", i, m.Role, m.Run, m.Step, m.ID, line)
		}
		fmt.Println("--- its runs")
		for _, id := range sortedRuns(v.Runs) {
			r := v.Runs[id]
			fmt.Printf("%s %s %s, %s to %s\n", id, r.Status, r.how(), clock(r.Created), clock(r.Finished))
		}
	}
	fmt.Println("--- the host's words about it")
	text, err := os.ReadFile(filepath.Join(s.host.folder, "host.log"))
	if err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "===") || strings.Contains(line, s.Thread+" ") || strings.Contains(line, s.Thread+":") {
			fmt.Print(line)
		}
	}
}

func clock(milliseconds int64) string { return time.UnixMilli(milliseconds).Format("15:04:05.000") }
