package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// frame is one event of an SSE stream.
type frame struct{ ID, Data string }

// errCut is a stream that ended within a frame.
var errCut = errors.New("the stream ended within a frame")

// readFrame reads the next frame with data; comments are skipped. io.EOF is the
// stream's end.
func readFrame(r *bufio.Reader) (frame, error) {
	var f frame
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) && (line != "" || f.Data != "") {
				err = errCut
			}
			return frame{}, err
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "" && f.Data != "":
			return f, nil
		case strings.HasPrefix(line, "id:"):
			f.ID = strings.TrimSpace(line[len("id:"):])
		case strings.HasPrefix(line, "data:"):
			f.Data += strings.TrimPrefix(line[len("data:"):], " ")
		}
	}
}

// step is one step of a run, as a stream showed it or as the log has it.
type step struct {
	Number  int
	Turn    turn
	Asks    bool              // its call is one of danger
	IDs     []string          // of the calls
	Results map[string]string // by call id; an error begins with "error: "
	Lives   map[string]int    // the life of the host in which a result was read
	Closed  bool              // its end was shown
}

func (s *step) result(id, text string, life int) {
	if s.Results == nil {
		s.Results, s.Lives = map[string]string{}, map[string]int{}
	}
	s.Results[id], s.Lives[id] = text, life
}

// shown is what one client has read of a run: over several connections, when
// it resumed.
type shown struct {
	Run      string
	From     int // the step that it begins with; 0: the first
	Chat     bool
	Steps    []*step
	Ended    bool   // the run's end was read
	How      string // termination of the run, or the chat's finish reason
	Last     string // id of the last frame
	Cuts     int    // connections that were lost or left
	Restarts int    // inferences that were announced to be void
	seen     map[string]bool
}

// natural reports whether the run ended as its model ended it.
func (s *shown) natural() bool {
	if s.Chat {
		return s.How == "stop"
	}
	return s.How == "natural_end"
}

// at returns the step of a number.
func (s *shown) at(number int) *step {
	for _, st := range s.Steps {
		if st.Number == number {
			return st
		}
	}
	s.Steps = append(s.Steps, &step{Number: number})
	return s.Steps[len(s.Steps)-1]
}

// native is an event of a run's own stream.
type native struct {
	Type        string          `json:"event_type"`
	RunID       string          `json:"run_id"`
	Step        int             `json:"step"`
	Delta       string          `json:"delta"`
	CallID      string          `json:"id"`
	Arguments   json.RawMessage `json:"arguments"`
	Result      json.RawMessage `json:"result"`
	IsError     bool            `json:"is_error"`
	Termination struct {
		Type string `json:"type"`
		Code string `json:"code"`
	} `json:"termination"`
}

// event takes a frame of the native stream. An error is a violation.
func (s *shown) event(f frame, life int) error {
	var e native
	if err := json.Unmarshal([]byte(f.Data), &e); err != nil {
		return fmt.Errorf("a frame is not an event: %w in %s", err, f.Data)
	}
	if f.ID != "" {
		s.Last = f.ID
	}
	if s.Ended {
		return fmt.Errorf("after run_finish comes %s", f.Data)
	}
	switch e.Type {
	case "run_start":
		if s.Run != "" && s.Run != e.RunID {
			return fmt.Errorf("it continues as run %s", e.RunID)
		}
		s.Run = e.RunID
	case "step_restarted":
		*s.at(e.Step) = step{Number: e.Step}
		s.Restarts++
	case "text_delta":
		s.at(e.Step).Turn.Text += e.Delta
		return s.once(f)
	case "reasoning_delta":
		s.at(e.Step).Turn.Reasoning += e.Delta
		return s.once(f)
	case "tool_call_ready":
		st := s.at(e.Step)
		st.IDs, st.Turn.Calls = append(st.IDs, e.CallID), append(st.Turn.Calls, echoed(e.Arguments))
		return s.once(f)
	case "tool_call_done":
		if _, twice := s.at(e.Step).Results[e.CallID]; twice {
			return fmt.Errorf("the result of %s comes twice, now as %s", e.CallID, f.ID)
		}
		s.at(e.Step).result(e.CallID, outcome(e.Result, e.IsError), life)
		return s.once(f)
	case "step_end":
		s.at(e.Step).Closed = true
	case "run_finish":
		s.Ended, s.How = e.Termination.Type != "suspended", e.Termination.Type // a run that waits continues
	}
	return nil
}

// once refuses a frame whose id this client has had.
func (s *shown) once(f frame) error {
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	if s.seen[f.ID] {
		return fmt.Errorf("the id %s comes twice, now with %s", f.ID, f.Data)
	}
	s.seen[f.ID] = true
	return nil
}

func outcome(result json.RawMessage, failed bool) string {
	if failed {
		return "error: " + string(result)
	}
	return echoed(result)
}

// chunk is a part of an AI SDK stream.
type chunk struct {
	Type         string          `json:"type"`
	MessageID    string          `json:"messageId"`
	Delta        string          `json:"delta"`
	CallID       string          `json:"toolCallId"`
	Input        json.RawMessage `json:"input"`
	Output       json.RawMessage `json:"output"`
	ErrorText    string          `json:"errorText"`
	FinishReason string          `json:"finishReason"`
}

// chunk takes a frame of an AI SDK stream. An error is a violation.
func (s *shown) chunk(f frame, life int) error {
	if s.Ended {
		return fmt.Errorf("after the end comes %s", f.Data)
	}
	if f.Data == "[DONE]" {
		s.Ended = true
		return nil
	}
	var c chunk
	if err := json.Unmarshal([]byte(f.Data), &c); err != nil {
		return fmt.Errorf("a frame is not a chunk: %w in %s", err, f.Data)
	}
	last := &step{} // what belongs to no step is not kept
	if n := len(s.Steps); n > 0 {
		last = s.Steps[n-1]
	}
	switch c.Type {
	case "start": // a run, or what it says from a step on to input that joined it
		run, from, _ := strings.Cut(c.MessageID, ".")
		s.Run = run
		s.From, _ = strconv.Atoi(from) // 0: all of it
	case "start-step":
		s.at(len(s.Steps) + 1)
	case "text-delta":
		last.Turn.Text += c.Delta
	case "reasoning-delta":
		last.Turn.Reasoning += c.Delta
	case "tool-input-available":
		last.IDs, last.Turn.Calls = append(last.IDs, c.CallID), append(last.Turn.Calls, echoed(c.Input))
	case "tool-output-available":
		last.result(c.CallID, echoed(c.Output), life)
	case "tool-output-error":
		last.result(c.CallID, "error: "+c.ErrorText, life)
	case "tool-output-denied":
		last.result(c.CallID, "error: denied", life)
	case "finish-step":
		last.Closed = true
	case "finish":
		s.How = c.FinishReason
	case "abort":
		s.How = "abort"
	}
	return nil
}
