package local

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"
)

// waiting is what GET /v1/approvals lists of a call.
type waiting struct {
	Thread  string `json:"thread_id"`
	Run     string `json:"run_id"`
	Agent   string `json:"agent_id"`
	Call    string `json:"tool_call_id"`
	Tool    string `json:"tool_name"`
	Kind    string `json:"kind"`
	Created int64  `json:"created_at"`
}

func approvals(t *testing.T, url string) []waiting {
	t.Helper()
	status, body := get(t, url+"/v1/approvals")
	var page struct {
		Approvals []waiting
		HasMore   bool `json:"has_more"`
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil || status != 200 || page.HasMore {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	return page.Approvals
}

// TestAPersonFindsWhatWaits: two runs wait, one is decided, the other is left, also
// for the host that is started next.
func TestAPersonFindsWhatWaits(t *testing.T) {
	data := filepath.Join(t.TempDir(), "reveille.db")
	var left waiting
	t.Run("first host", func(t *testing.T) {
		url := serveHost(t, data)
		if got := approvals(t, url); len(got) != 0 {
			t.Fatalf("before anything waits: %+v", got)
		}
		for _, thread := range []string{"t1", "t2"} {
			post(t, url+"/v1/ai-sdk/chat", `{"id":"`+thread+`","messages":[{"id":"m-`+thread+`","role":"user","parts":[{"type":"text","text":"approve: ship it"}]}]}`)
		}
		post(t, url+"/v1/ai-sdk/chat", `{"id":"t3","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"ask: the client"}]}]}`)
		got := approvals(t, url)
		if len(got) != 3 || got[0].Thread != "t1" || got[1].Thread != "t2" || got[2].Thread != "t3" {
			t.Fatalf("two calls wait for a person, and a third for its client: %+v", got)
		}
		if w := got[2]; w.Tool != "ask_user" || w.Kind != "client" || got[0].Kind != "person" {
			t.Errorf("the call that waits for its client is %+v", w)
		}
		for _, w := range got[:2] {
			if w.Agent != "demo" || w.Tool != "danger" || w.Created < time.Now().Add(-time.Minute).UnixMilli() {
				t.Errorf("%+v", w)
			}
		}
		if status, body := post(t, url+"/v1/runs/"+got[0].Run+"/decision", `{"tool_call_id":"`+got[0].Call+`","action":"resume"}`); status != 202 {
			t.Fatalf("status %d, %s", status, body)
		}
		if got := approvals(t, url); len(got) != 2 || got[0].Thread != "t2" {
			t.Errorf("after the decision on t1: %+v", got)
		}
		left = got[1]
	})
	url := serveHost(t, data)
	if got := approvals(t, url); len(got) != 2 || got[0] != left {
		t.Errorf("the next host lists %+v, want %+v", got, left)
	}
	if status, body := post(t, url+"/v1/threads/t2/cancel", ""); status != 202 {
		t.Fatalf("status %d, %s", status, body)
	}
	if got := approvals(t, url); len(got) != 1 || got[0].Thread != "t3" {
		t.Errorf("after the cancel of t2: %+v", got)
	}
}
