package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFramesOfAStream(t *testing.T) {
	r := bufio.NewReader(strings.NewReader(": beat\n\nid: a\ndata: one\n\ndata: two\n\ndata: thr"))
	var got []frame
	var err error
	for err == nil {
		var f frame
		if f, err = readFrame(r); err == nil {
			got = append(got, f)
		}
	}
	if diff := cmp.Diff([]frame{{"a", "one"}, {"", "two"}}, got); diff != "" || !errors.Is(err, errCut) {
		t.Errorf("error %v, frames (-want +got):\n%s", err, diff)
	}
	if _, err := readFrame(bufio.NewReader(strings.NewReader(""))); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestNativeStreamOverARestart(t *testing.T) {
	s := &shown{}
	for _, f := range []frame{
		{"1", `{"event_type":"run_start","run_id":"r"}`},
		{"2", `{"event_type":"tool_call_ready","step":1,"id":"c","arguments":{"text":"x"}}`},
		{"3", `{"event_type":"tool_call_done","step":1,"id":"c","result":{"text":"x"}}`},
		{"4", `{"event_type":"step_end","step":1}`},
		{"5", `{"event_type":"text_delta","step":2,"delta":"Ec"}`},
		{"5", `{"event_type":"step_restarted","step":2}`},
		{"6", `{"event_type":"text_delta","step":2,"delta":"Echo: x"}`},
		{"7", `{"event_type":"run_finish","termination":{"type":"natural_end"}}`},
	} {
		if err := s.event(f, 4); err != nil {
			t.Fatal(err)
		}
	}
	want := []*step{
		{Number: 1, Turn: turn{Calls: []string{"x"}}, IDs: []string{"c"}, Results: map[string]string{"c": "x"}, Lives: map[string]int{"c": 4}, Closed: true},
		{Number: 2, Turn: turn{Text: "Echo: x"}},
	}
	if diff := cmp.Diff(want, s.Steps); diff != "" || !s.Ended || !s.natural() || s.Run != "r" || s.Last != "7" || s.Restarts != 1 {
		t.Errorf("%+v, steps (-want +got):\n%s", s, diff)
	}
}

func TestNativeStreamThatRepeatsIsRefused(t *testing.T) {
	tests := []struct {
		name   string
		frames []frame
	}{
		{"a text", []frame{{"5", `{"event_type":"text_delta","step":1,"delta":"a"}`}, {"5", `{"event_type":"text_delta","step":1,"delta":"a"}`}}},
		{"a result under another id", []frame{{"5", `{"event_type":"tool_call_done","step":1,"id":"c","result":{}}`}, {"6", `{"event_type":"tool_call_done","step":1,"id":"c","result":{}}`}}},
		{"anything after the end", []frame{{"5", `{"event_type":"run_finish"}`}, {"6", `{"event_type":"run_finish"}`}}},
		{"another run", []frame{{"5", `{"event_type":"run_start","run_id":"r"}`}, {"6", `{"event_type":"run_start","run_id":"s"}`}}},
		{"no event", []frame{{"5", `{"event_type":"step_start"}`}, {"6", `text`}}},
	}
	for _, tt := range tests {
		s := &shown{}
		if err := s.event(tt.frames[0], 1); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if err := s.event(tt.frames[1], 1); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
}

func TestChatStream(t *testing.T) {
	s := &shown{Chat: true}
	for _, data := range []string{
		`{"type":"start","messageId":"r"}`, `{"type":"start-step"}`,
		`{"type":"tool-input-available","toolCallId":"c","input":{"text":"x"}}`,
		`{"type":"tool-output-available","toolCallId":"c","output":{"text":"x"}}`, `{"type":"tool-output-denied","toolCallId":"d"}`, `{"type":"finish-step"}`,
		`{"type":"start-step"}`, `{"type":"text-delta","delta":"Echo: "}`, `{"type":"text-delta","delta":"x"}`, `{"type":"finish-step"}`,
		`{"type":"finish","finishReason":"stop"}`, `[DONE]`,
	} {
		if err := s.chunk(frame{Data: data}, 2); err != nil {
			t.Fatal(err)
		}
	}
	want := []*step{
		{Number: 1, Turn: turn{Calls: []string{"x"}}, IDs: []string{"c"}, Results: map[string]string{"c": "x", "d": "error: denied"}, Lives: map[string]int{"c": 2, "d": 2}, Closed: true},
		{Number: 2, Turn: turn{Text: "Echo: x"}, Closed: true},
	}
	if diff := cmp.Diff(want, s.Steps); diff != "" || !s.Ended || !s.natural() || s.Run != "r" {
		t.Errorf("%+v, steps (-want +got):\n%s", s, diff)
	}
	if err := s.chunk(frame{Data: `{"type":"start"}`}, 2); err == nil {
		t.Error("a chunk after the end was accepted")
	}
}
