package local

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// controller sends requests to a host, and remembers what it got.
type controller struct {
	t   *testing.T
	url string
}

// sends returns the status and the JSON of a response.
func (p controller) sends(method, path, body string) (int, map[string]any) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var got map[string]any
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil && err != io.EOF {
		p.t.Fatal(err)
	}
	return response.StatusCode, got
}

// must is sends for a request that comes to a status.
func (p controller) must(status int, method, path, body string) map[string]any {
	p.t.Helper()
	got, response := p.sends(method, path, body)
	if got != status {
		p.t.Fatalf("%s %s: status %d, want %d: %v", method, path, got, status, response)
	}
	return response
}

// says submits input.
func (p controller) says(path, text, more string) (run, dispatch string) {
	p.t.Helper()
	got := p.must(http.StatusAccepted, "POST", path, fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]%s}`, text, more))
	return got["run_id"].(string), got["dispatch_id"].(string)
}

// until waits for a run to come to a status, and returns it.
func (p controller) until(run, status string) map[string]any {
	p.t.Helper()
	for range 500 {
		if got := p.must(http.StatusOK, "GET", "/v1/runs/"+run, ""); got["status"] == status {
			return got
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("run %s does not come to be %s", run, status)
	return nil
}

// listed says of each item of a thread's mailbox what it is and how it stands.
func (p controller) listed(thread, query string) (lines []string) {
	p.t.Helper()
	for _, item := range p.must(http.StatusOK, "GET", "/v1/threads/"+thread+"/mailbox"+query, "")["items"].([]any) {
		i := item.(map[string]any)
		lines = append(lines, fmt.Sprint(i["kind"], " ", i["status"], " ", i["run_status"]))
	}
	return lines
}

// TestAPersonIsInControl walks through run control on the real host, over its file.
func TestAPersonIsInControl(t *testing.T) {
	url, h := serveOpenHost(t, filepath.Join(t.TempDir(), "data.db"))
	p := controller{t, url}
	const thread = "/v1/threads/c1"

	// A run that waits is the active one; input that is for it answers it.
	first, _ := p.says(thread+"/messages", "ask: really?", "")
	p.until(first, "waiting")
	active := p.must(http.StatusOK, "GET", thread+"/runs/active", "")["active_run"].(map[string]any)
	if active["run_id"] != first || len(active["tickets"].([]any)) != 1 {
		t.Errorf("the active run is %v", active)
	}
	// What is queued behind it opens by its priority, and can be changed and taken back.
	_, low := p.says(thread+"/messages", "echo: low", `,"priority":200,"delay_ms":3600000`)
	p.must(http.StatusOK, "PATCH", thread+"/mailbox/"+low, `{"messages":[{"role":"user","content":"echo: changed"}]}`)
	_, high := p.says(thread+"/messages", "echo: high", `,"priority":1,"delay_ms":3600000`)
	p.must(http.StatusNoContent, "DELETE", thread+"/mailbox/"+high, "")
	p.must(http.StatusNotFound, "DELETE", thread+"/mailbox/"+high, "")
	want := []string{"run acked waiting", "run queued created", "run cancelled done"}
	if diff := cmp.Diff(want, p.listed("c1", "")); diff != "" {
		t.Errorf("mailbox (-want +got):\n%s", diff)
	}
	if reader, _ := p.says("/v1/runs/"+first+"/inputs", "echo: instead", ""); reader != first {
		t.Errorf("run %s reads what was meant for %s", reader, first)
	}
	if end := p.until(first, "done"); end["response"] != "Echo: instead" {
		t.Errorf("the run that was answered ends with %v", end)
	}
	// Input for a run that is over becomes a run of its own.
	next, _ := p.says("/v1/runs/"+first+"/inputs", "ask: really?", "")
	if next == first {
		t.Error("a run that is over is said to read input")
	}
	p.until(next, "waiting")
	came := p.must(http.StatusAccepted, "POST", thread+"/interrupt", "")
	if came["interrupted_run_id"] != next || came["superseded_dispatches"] != 0.0 {
		t.Errorf("the interrupt came to %v", came)
	}
	if end := p.until(next, "done"); end["termination"].(map[string]any)["type"] != "superseded" {
		t.Errorf("the interrupted run ends with %v", end)
	}
	for range 500 { // the end becomes final after the reads say done, and until then can be interrupted again
		if status, _ := p.sends("POST", thread+"/interrupt", ""); status == http.StatusNotFound {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.must(http.StatusNotFound, "POST", thread+"/interrupt", "")
	// What is for later is left by an interrupt.
	want = []string{"run queued created", "run acked done", "run superseded done", "run cancelled done", "input acked <nil>"}
	got := p.listed("c1", "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mailbox at the end (-want +got):\n%s", diff)
	}
	p.must(http.StatusConflict, "POST", "/v1/runs/"+first+"/retry", "")

	// The thread is gone, and what it had, with the sweep.
	p.must(http.StatusNoContent, "DELETE", thread, "")
	for _, path := range []string{thread, thread + "/messages", thread + "/mailbox", "/v1/runs/" + first, "/v1/runs/" + next + "/events/stream"} {
		p.must(http.StatusGone, "GET", path, "")
	}
	for range 500 {
		keys, err := h.file.Threads(t.Context(), "")
		if err != nil || len(keys) != 1 {
			t.Fatal(keys, err)
		}
		left, err := h.file.Records(t.Context(), keys[0], "", "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the host does not erase a deleted thread")
}
