//go:build aws

package deployed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// The points of I/O where a process is killed, as core/internal/point names them.
const (
	atClaim      = "W2"  // HEAD: claim
	atReadLog    = "W3"  // the log's tail is read
	atModel      = "W4"  // the model is called
	atCommitTurn = "W6"  // HEAD: commit A, with the assistant turn
	atTool       = "W7"  // a tool runs
	atPutResult  = "W8"  // its result is put alone, at its reserved sequence
	atCommitStep = "W9"  // HEAD: commit B, with the step's last result and record
	atContinue   = "W10" // the continuation's wake-up is sent
)

// passed are the points that the step function passes with `parallel: a, b`,
// and how often at most a kill there makes a difference. Receiving and deleting
// the message (W1, W11) are the event source mapping's.
var passed = []struct {
	point string
	times int
}{
	{atClaim, 2}, {atReadLog, 1}, {atModel, 2}, {atCommitTurn, 1},
	{atTool, 2}, {atPutResult, 1}, {atCommitStep, 2}, {atContinue, 1},
}

func TestAKilledStepIsRedelivered(t *testing.T) {
	bootstrap := build(t, "scripts/verify/deployed/step", "killpoints")
	for _, p := range passed {
		for _, side := range []string{"before", "after"} {
			for count := 1; count <= p.times; count++ {
				at := p.point + "." + side
				t.Run(fmt.Sprintf("%s_%d", at, count), func(t *testing.T) {
					t.Parallel()
					killAndRedeliver(t, bootstrap, at, count, p.point == atReadLog)
				})
			}
		}
	}
}

// killAndRedeliver kills a run of two parallel calls. On a thread with history
// the function must read the log first: its process has seen nothing of it.
func killAndRedeliver(t *testing.T, bootstrap, at string, count int, history bool) {
	w := newWorld(t)
	marker, keys := filepath.Join(t.TempDir(), "killed"), filepath.Join(t.TempDir(), "keys")
	// The lease ends before the message comes back, as it does on AWS.
	w.run(t, w.function("other", bootstrap, 30*time.Second), w.function("step", bootstrap, 30*time.Second, "REVEILLE_LEASE=1s",
		"REVEILLE_KILL_AT="+at, fmt.Sprintf("REVEILLE_KILL_COUNT=%d", count), "REVEILLE_KILL_ONCE="+marker, "REVEILLE_KEY_FILE="+keys))
	want, results := []string(nil), uint64(3) // after the user's message and the turn
	if history {
		w.submit(t, "t1", "hello")
		w.finishWith(t, "other", "t1")
		want, results = []string{"user: hello", "assistant: You said: hello"}, 5
	}
	w.submit(t, "t1", "parallel: a, b")
	p := host.Poller{Host: w.host, Queue: transport{w.queue}, Function: "step", Wait: time.Second}
	for range 20 {
		if _, err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(marker); err == nil {
			break
		}
	}
	if _, err := os.Stat(marker); err != nil {
		t.Fatal("the function was not killed")
	}
	before, stored := executions(t, keys), w.results(t, results)
	w.finish(t, "t1")
	want = append(want, "user: parallel: a, b", "assistant: ", `tool: {"text":"a"}`, `tool: {"text":"b"}`, "assistant: Echo: a, b")
	if diff := cmp.Diff(want, w.messages(t, "t1")); diff != "" {
		t.Errorf("messages after the redelivery (-want +got):\n%s", diff)
	}
	after := executions(t, keys)
	if len(after) != 2 {
		t.Errorf("executions %v, want two keys", after)
	}
	for key, n := range after {
		want := before[key] + 1 // it had no result: the same key runs again
		if stored[key[strings.LastIndex(key, "/")+1:]] {
			want = before[key]
		}
		if n != want {
			t.Errorf("call %s was executed %d times, want %d (before the redelivery %d, result stored: %v)", key, n, want, before[key], stored)
		}
	}
}

// executions counts the executions of each key.
func executions(t *testing.T, path string) map[string]int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, key := range strings.Fields(string(b)) {
		counts[key]++
	}
	return counts
}

// results tells which of the two calls have a stored result, by the last part of
// their key; the result of the first belongs at the sequence base.
func (w *world) results(t *testing.T, base uint64) map[string]bool {
	t.Helper()
	stored := map[string]bool{}
	for i, seq := range []uint64{base, base + 1} {
		_, ok, err := w.store.Get(t.Context(), key("t1"), store.LogName(seq))
		if err != nil {
			t.Fatal(err)
		}
		stored[fmt.Sprint(i)] = ok
	}
	return stored
}
