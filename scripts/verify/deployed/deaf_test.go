//go:build aws

package deployed

import (
	"bufio"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// Whatever a tool does, a cancelled run ends within 5 s, its stream and its thread
// with it; and the process that the tool is left behind in takes no other
// invocation. Nothing runs beside these tests: they are about time.
func TestADeafToolEndsWithItsProcess(t *testing.T) {
	within(t, 5*time.Second, endADeafTool)
}

// within fails unless something takes at most so long in one of three goes: each look at
// the head and each write may have to wait for a machine that has other things to do.
func within(t *testing.T, most time.Duration, goes func(t *testing.T) time.Duration) {
	t.Helper()
	var took []time.Duration
	for again := range 3 {
		t.Run(fmt.Sprint(again), func(t *testing.T) { took = append(took, goes(t)) })
		if t.Failed() || took[again] <= most {
			return
		}
	}
	t.Errorf("it took %s, want at most %s", took, most)
}

// endADeafTool cancels a run whose tool does not listen, and returns what it took from
// then on to the stream's end.
func endADeafTool(t *testing.T) time.Duration {
	w := newWorld(t)
	keys := filepath.Join(t.TempDir(), "keys")
	deaf := w.function("stream", build(t, "scripts/verify/deployed/stream", "killpoints"), time.Minute, "REVEILLE_KEY_FILE="+keys)
	deaf.Concurrency = 1 // who comes next waits until the process is done, or gone
	w.run(t, deaf, w.function("api", build(t, "scripts/verify/deployed/api", ""), 30*time.Second))
	stream := w.front(t, host.Front{Function: "stream"})
	api := w.front(t, host.Front{Function: "api", Shape: host.ShapeREST})
	var cancelled time.Time
	whole := ""
	lines := bufio.NewScanner(chat(t, stream, "t1", "call: deaf").Body)
	for lines.Scan() {
		whole += lines.Text() + "\n"
		if strings.Contains(lines.Text(), `"type":"tool-input-available"`) {
			begun(t, keys)
			cancel(t, api)
			cancelled = time.Now()
		}
	}
	took := time.Since(cancelled)
	t.Logf("the stream ended %s after the cancel", took)
	if !strings.Contains(whole, `"type":"abort"`) || !strings.HasSuffix(whole, "data: [DONE]\n\n") {
		t.Errorf("the stream has no end:\n%s", whole)
	}
	if h := w.head(t, "t1"); h.Open() || h.Busy(0) || h.DueAt != 0 {
		t.Errorf("the run is still open: %+v", h)
	}
	if diff := cmp.Diff([]string{"user: call: deaf", "assistant: ", "tool: "}, unspoken(w.messages(t, "t1"))); diff != "" {
		t.Error(diff)
	}
	if body := readAll(t, chat(t, stream, "t2", "hello").Body); !strings.Contains(body, `"finishReason":"stop"`) {
		t.Errorf("the next request did not work:\n%s", body)
	}
	if body := readAll(t, chat(t, stream, "t3", "hello").Body); !strings.Contains(body, `"finishReason":"stop"`) {
		t.Errorf("the one after it did not work:\n%s", body)
	}
	w.started(t, "stream", 2)
	return took
}

// The same behind the queue: the step function's response is taken, and the next
// message goes to another process.
func TestADeafToolOfAStepEndsWithItsProcess(t *testing.T) {
	within(t, 5*time.Second, endADeafStep)
}

// endADeafStep is endADeafTool, to the end of the step function's invocation.
func endADeafStep(t *testing.T) time.Duration {
	w := newWorld(t)
	keys := filepath.Join(t.TempDir(), "keys")
	deaf := w.function("step", build(t, "scripts/verify/deployed/step", "killpoints"), time.Minute, "REVEILLE_KEY_FILE="+keys)
	deaf.Concurrency = 1
	w.run(t, deaf, w.function("api", build(t, "scripts/verify/deployed/api", ""), 30*time.Second))
	api := w.front(t, host.Front{Function: "api", Shape: host.ShapeREST})
	receipt := w.submit(t, "t1", "call: deaf")
	w.take(t)
	done := make(chan error, 1)
	var result host.Result
	go func() {
		var err error
		result, err = w.host.Invoke(t.Context(), "step", eventFor(t, core.WakeUp{Tenant: tenant, Thread: "t1", Dispatch: receipt.DispatchID}))
		done <- err
	}()
	begun(t, keys)
	cancel(t, api)
	cancelled := time.Now()
	for h := w.head(t, "t1"); h.Busy(0); h = w.head(t, "t1") {
		if time.Since(cancelled) > 20*time.Second {
			t.Fatal("the run does not end")
		}
		time.Sleep(50 * time.Millisecond)
	}
	ended := time.Since(cancelled)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	took := time.Since(cancelled)
	t.Logf("the run ended %s after the cancel, its invocation %s", ended, took)
	if got := strings.TrimSpace(string(result.Payload)); got != `{"batchItemFailures":null}` && got != `{"batchItemFailures":[]}` {
		t.Errorf("the batch returned %s", got)
	}
	w.submit(t, "t2", "hello")
	w.finish(t, "t2")
	if diff := cmp.Diff([]string{"user: hello", "assistant: You said: hello"}, w.messages(t, "t2")); diff != "" {
		t.Error(diff)
	}
	w.started(t, "step", 2)
	return took
}

// begun waits until the first tool runs.
func begun(t *testing.T, keys string) {
	t.Helper()
	for range 600 {
		if len(executions(t, keys)) > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("no tool has begun after 30 s")
}

// cancel cancels what thread t1 does, over the api function.
func cancel(t *testing.T, api string) {
	t.Helper()
	response, err := http.Post(api+"/v1/threads/t1/cancel", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		t.Fatalf("cancel: status %d: %s", response.StatusCode, readAll(t, response.Body))
	}
}

// unspoken leaves out what tools said: why a call has no result is for people.
func unspoken(messages []string) []string {
	for i, m := range messages {
		if strings.HasPrefix(m, "tool: ") {
			messages[i] = "tool: "
		}
	}
	return messages
}

// started compares how many processes the function has had.
func (w *world) started(t *testing.T, function string, want int) {
	t.Helper()
	n := 0
	for _, s := range w.host.Starts() {
		if s.Function == function {
			n++
		}
	}
	if n != want {
		t.Errorf("the function %s had %d processes, want %d", function, n, want)
	}
}
