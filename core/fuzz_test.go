package core_test

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// again decodes what a value encodes as, and returns how that is encoded: the wire
// form of whatever was read once is read as the same.
func again[T any](t *testing.T, value T) (once, twice string) {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%+v was decoded and has no wire form: %v", value, err)
	}
	var decoded T
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatalf("%s does not decode again: %v", encoded, err)
	}
	reencoded, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded), string(reencoded)
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"id":"1","role":"user","content":[{"type":"text","text":"hi"}]}`))
	f.Add([]byte(`{"id":"2","role":"assistant","content":[{"type":"reasoning","text":"hm","echo":"s","origin":"m"}],"tool_calls":[{"id":"c","name":"echo","arguments":{"a":1}}],"usage":{"input":1},"stop_reason":"tool_use"}`))
	f.Add([]byte(`{"id":"3","role":"tool","tool_result":{"call_id":"c","name":"echo","data":"x","status":"ok"},"run_id":"00000000-0000-7000-8000-000000000001"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m core.Message
		if json.Unmarshal(text, &m) != nil {
			return
		}
		_ = m.Text()
		if once, twice := again(t, m); once != twice {
			t.Errorf("%s is read as %s", once, twice)
		}
	})
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"event_type":"text_delta","step":1,"message_id":"m","delta":"x"}`))
	f.Add([]byte(`{"event_type":"tool_call_done","id":"c","name":"echo","result":{"text":"x"},"status":"ok"}`))
	f.Add([]byte(`{"event_type":"tool_call_suspended","id":"c","ticket":{"tool_call_id":"c","tool_name":"n","arguments":{},"suspension_id":"s","action":"a","resume_mode":"replay_tool_call","kind":"person"}}`))
	f.Add([]byte(`{"event_type":"run_finish","run_id":"00000000-0000-7000-8000-000000000001","termination":{"type":"natural_end"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e core.Event
		if json.Unmarshal(text, &e) != nil {
			return
		}
		if once, twice := again(t, e); once != twice {
			t.Errorf("%s is read as %s", once, twice)
		}
	})
}

// A decision that passes is one that can be stored, and answers whether it resumes
// whoever decides.
func FuzzDecision(f *testing.F) {
	f.Add([]byte(`{"decision_id":"d","action":"resume","payload":{"approved":false}}`))
	f.Add([]byte(`{"action":"cancel","reason":"no"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d core.Decision
		if json.Unmarshal(text, &d) != nil || d.Check() != nil {
			return
		}
		for _, kind := range []core.TicketKind{core.TicketPerson, core.TicketClient, core.TicketChild} {
			ticket := core.Ticket{Kind: kind}
			if ticket.Resumes(d) && (ticket.Refuses(d) || d.Action != core.DecisionResume) {
				t.Errorf("%s resumes a call that it refuses", text)
			}
		}
		if once, twice := again(t, d); once != twice {
			t.Errorf("%s is read as %s", once, twice)
		}
	})
}
