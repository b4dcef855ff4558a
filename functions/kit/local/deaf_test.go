//go:build killpoints

package local

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

// TestDeafToolIsLeftBehind: whatever a tool does, a cancelled run ends within 5 s,
// its stream and its thread with it. When 16 tools were left behind the host says
// that it is not healthy any more.
func TestDeafToolIsLeftBehind(t *testing.T) {
	t.Parallel()
	undisturbed(t, 3, func() error { return leavesDeaf(t) })
}

// leavesDeaf cancels 16 runs at once; the error is that the slowest one's end was late.
func leavesDeaf(t *testing.T) error {
	t.Helper()
	here := place{data: "memory", keys: filepath.Join(t.TempDir(), "keys")}
	l := here.start(t, "", 1)
	if err := l.expect(http.MethodGet, "/health", http.StatusOK, `{"status":"healthy"}`); err != nil {
		t.Error(err)
	}
	took := make([]time.Duration, 16)
	var runs sync.WaitGroup
	for i := range took {
		runs.Go(func() {
			var err error
			if took[i], err = here.cancelDeaf(l, fmt.Sprint("t", i)); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	for _, path := range []string{"/health"} {
		if err := l.expect(http.MethodGet, path, http.StatusServiceUnavailable,
			`{"status":"unhealthy","reason":"16 abandoned tools still run, want fewer than 16"}`); err != nil {
			t.Errorf("with 16 tools left behind: %v", err)
		}
	}
	var results []core.ResultStatus
	for _, m := range l.messages(t, "t0") {
		if m.ToolResult != nil {
			results = append(results, m.ToolResult.Status)
		}
	}
	if diff := cmp.Diff([]core.ResultStatus{core.ResultUnknown}, results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	l.stop(t)
	if slowest := slices.Max(took); slowest > 5*time.Second {
		return fmt.Errorf("a stream ended %s after the cancel, want at most 5 s", slowest)
	}
	return nil
}

// cancelDeaf streams a run whose tool ignores its context, cancels it when the
// tool runs, and waits for its end, which came so long after the cancel.
func (p place) cancelDeaf(l *process, thread string) (took time.Duration, err error) {
	response, err := client.Post(l.url+"/v1/runs", "application/json",
		strings.NewReader(fmt.Sprintf(`{"threadId":%q,"messages":[{"role":"user","content":"call: deaf"}]}`, thread)))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var cancelled time.Time
	var last core.Event
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			return 0, err
		}
		if last.Type != core.EventInferenceComplete {
			continue
		}
		if err := p.runs(last.RunID); err != nil {
			return 0, err
		}
		cancelled = time.Now()
		if err := l.expect(http.MethodPost, "/v1/threads/"+thread+"/cancel", http.StatusAccepted,
			fmt.Sprintf(`{"status":"cancel_requested","thread_id":%q}`, thread)); err != nil {
			return 0, err
		}
	}
	took = time.Since(cancelled)
	if last.Termination == nil || *last.Termination != (core.Termination{Type: core.TerminationCancelled}) {
		return 0, fmt.Errorf("the stream of %s ended %s after the cancel with %+v, want the cancelled run's end", thread, took, last)
	}
	return took, l.expect(http.MethodGet, "/v1/threads/"+thread, http.StatusOK,
		fmt.Sprintf(`{"thread_id":%q,"agent_id":"demo","active_run":null,"queued":0,"messages":3,"created_at":0,"last_activity":0}`, thread))
}

// runs waits until a tool of the run has begun.
func (p place) runs(run core.ID) error {
	for range 1000 {
		if keys, _ := os.ReadFile(p.keys); strings.Contains(string(keys), run.String()) {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("no tool of run %s has begun after 5 s", run)
}

// times are those that a response has, in milliseconds.
var times = regexp.MustCompile(`:[0-9]{13}\b`)

// expect sends a request and compares the response, whose times are 0.
func (l *process) expect(method, path string, status int, want string) error {
	request, err := http.NewRequest(method, l.url+path, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if got := times.ReplaceAllString(strings.TrimSpace(string(body)), ":0"); err == nil && (response.StatusCode != status || got != want) {
		err = fmt.Errorf("%s %s: %d %s, want %d %s", method, path, response.StatusCode, got, status, want)
	}
	return err
}
