package local

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An AI SDK client sends its whole history each time: 12 MB here, three times the limit of
// a body. It is served by its last messages, also for an approval and for another response.
func TestAChatOfALongHistory(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	turn := `{"id":"u%d","role":"user","parts":[{"type":"text","text":"` + strings.Repeat("x", 500) + `"}]},` +
		`{"id":"a%d","role":"assistant","parts":[{"type":"text","text":"` + strings.Repeat(`\"語`, 1000) + `"}]},`
	var history strings.Builder
	for i := 0; history.Len() < 12<<20; i++ {
		fmt.Fprintf(&history, turn, i, i)
	}
	send := func(more, last string) (response string) {
		t.Helper()
		status, response := post(t, url+"/v1/ai-sdk/chat", `{"id":"t1","messages":[`+history.String()+last+`]`+more+`}`)
		if status != 200 {
			t.Fatalf("status %d, %s", status, response)
		}
		return response
	}
	if got := send("", `{"id":"m1","role":"user","parts":[{"type":"text","text":"echo: hello"}]}`); !strings.Contains(got, "Echo: ") {
		t.Error(got)
	}
	send(`,"trigger":"regenerate-message"`, `{"id":"m1","role":"user","parts":[{"type":"text","text":"echo: hello"}]}`)
	send("", `{"id":"m2","role":"user","parts":[{"type":"text","text":"approve: ship it"}]}`)
	waiting := approvals(t, url)
	if len(waiting) != 1 {
		t.Fatalf("waiting: %+v", waiting)
	}
	got := send("", `{"id":"`+waiting[0].Run+`","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-danger","toolCallId":"`+waiting[0].Call+
		`","state":"approval-responded","input":{},"approval":{"id":"`+waiting[0].Call+`","approved":true}}]}`)
	if !strings.Contains(got, "tool-output-available") {
		t.Error(got)
	}
	want := []string{"user: echo: hello", `assistant: echo{"text":"hello"}`, `tool: {"text":"hello"}`, "assistant: Echo: hello", "user: approve: ship it"}
	if diff := cmp.Diff(want, said(t, url, "t1")[:5]); diff != "" {
		t.Error(diff)
	}
	status, response := post(t, url+"/v1/ai-sdk/chat", `{"id":"t1","messages":[`+history.String()+`{"id":"m3","role":"user","parts":[{"type":"text","text":" "}]}]}`)
	if index := strings.Count(history.String(), `"role"`); status != 400 || !strings.Contains(response, fmt.Sprintf("messages[%d] has no text and no file", index)) {
		t.Errorf("status %d, %s; want the index %d of the client's message", status, response, index)
	}
}
