//go:build killpoints

package local

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/functions/kit/internal/killpoints"
)

// recovery is how long a restarted host may take from listening to the end of
// the run.
const recovery = 2 * time.Second

// patience is for a host that is to die: after it the point was not passed.
const patience = 20 * time.Second

// binary is the test build of the host, made once by TestMain.
var binary string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "reveille-kill")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(folder, "dev")
	build := exec.Command("go", "build", "-tags", "killpoints", "-o", binary, "../../../scripts/user/demo")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// process is one life of the host.
type process struct {
	command  *exec.Cmd
	url      string // empty: it died before it listened
	listened time.Time
}

// place is where the lives of one host keep their data.
type place struct{ data, keys string }

// start runs the host; kill is "W6.before" or empty.
func (p place) start(t *testing.T, kill string, count int) *process {
	t.Helper()
	c := exec.Command(binary)
	c.Env = append(os.Environ(),
		"REVEILLE_ADDR=127.0.0.1:0", "REVEILLE_DATA="+p.data, killpoints.KeyFile+"="+p.keys,
		killpoints.KillAt+"="+kill, fmt.Sprintf("%s=%d", killpoints.KillCount, count), "REVEILLE_MODEL=scripted", "REVEILLE_AUTH=")
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	life := &process{command: c}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "msg=listening url="); ok {
			life.url, _, _ = strings.Cut(rest, " ")
			life.listened = time.Now()
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	t.Cleanup(func() { _ = c.Process.Kill() })
	return life
}

// killed waits until the process died and checks how.
func (l *process) killed(t *testing.T) {
	t.Helper()
	late := time.AfterFunc(patience, func() { _ = l.command.Process.Signal(syscall.SIGQUIT) })
	err := l.command.Wait()
	late.Stop()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the host ended with %v, want a SIGKILL by itself", err)
	}
}

func (l *process) stop(t *testing.T) {
	t.Helper()
	if err := l.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := l.command.Wait(); err != nil {
		t.Fatal(err)
	}
}

var client = &http.Client{Timeout: 30 * time.Second}

// submit posts the input under its idempotency key; it returns the run id, or
// "" when the host died before it responded.
func (l *process) submit(t *testing.T) string {
	t.Helper()
	return l.submitTo(t, "demo", "parallel: a, b")
}

func (l *process) submitTo(t *testing.T, agent, text string) string {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, l.url+"/v1/threads/t1/messages",
		strings.NewReader(fmt.Sprintf(`{"agentId":%q,"messages":[{"role":"user","content":%q}]}`, agent, text)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "one")
	response, err := client.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var receipt struct {
		RunID string `json:"run_id"`
	}
	if err := json.NewDecoder(response.Body).Decode(&receipt); err != nil {
		return ""
	}
	if response.StatusCode != http.StatusAccepted || receipt.RunID == "" {
		t.Fatalf("submit: status %d, run %q", response.StatusCode, receipt.RunID)
	}
	return receipt.RunID
}

// finish waits for the run's last event.
func (l *process) finish(t *testing.T, run string) {
	t.Helper()
	response, err := client.Get(l.url + "/v1/runs/" + run + "/events/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(body, []byte(`"event_type":"run_finish"`)) || !bytes.Contains(body, []byte(`"natural_end"`)) {
		t.Fatalf("the run did not finish:\n%s", body)
	}
}

func (l *process) messages(t *testing.T, thread string) []core.Message {
	t.Helper()
	response, err := client.Get(l.url + "/v1/threads/" + thread + "/messages")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var page struct{ Messages []core.Message }
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	return page.Messages
}

// executions counts the executions of each key.
func (p place) executions(t *testing.T) map[string]int {
	t.Helper()
	b, err := os.ReadFile(p.keys)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, key := range strings.Fields(string(b)) {
		counts[key]++
	}
	return counts
}

// results tells which calls of the first turn have a stored result, by the last
// part of their key.
func (p place) results(t *testing.T) map[string]bool {
	t.Helper()
	stored := map[string]bool{}
	p.open(t, func(file *bolt.Store) {
		for i, seq := range []uint64{3, 4, 5} { // after the user's message and the turn
			_, ok, err := file.Get(t.Context(), theThread, store.LogName(seq))
			if err != nil {
				t.Fatal(err)
			}
			stored[fmt.Sprint(i)] = ok
		}
	})
	return stored
}

// The points of I/O where a process is killed, as core/internal/point names them.
const (
	atEnqueue       = "E3"  // HEAD: enqueue, with the queued input
	atHint          = "E4"  // the wake-up is sent
	atRespond       = "E5"  // the caller gets its response
	atReceive       = "W1"  // a wake-up is received
	atClaim         = "W2"  // HEAD: claim
	atReadLog       = "W3"  // the log's tail is read
	atModel         = "W4"  // the model is called
	atCommitTurn    = "W6"  // HEAD: commit A, with the assistant turn
	atTool          = "W7"  // a tool runs
	atPutResult     = "W8"  // its result is put alone, at its reserved sequence
	atCommitStep    = "W9"  // HEAD: commit B, with the step's last result and record
	atContinue      = "W10" // the continuation's wake-up is sent
	atDeleteMessage = "W11" // the queue message is deleted
	atDecide        = "H2"  // HEAD: decide, with the decision
	atDecisionHint  = "H3"  // its wake-up is sent
	atDue           = "S1"  // overdue threads are listed
	atSweepHint     = "S2"  // an overdue thread is woken
)

// passed are the points that a background run passes, and how often at most a
// kill there makes a difference. One result is put alone, since the other call
// may still run then; that one's travels with the commit.
var passed = []struct {
	point string
	times int
}{
	{atEnqueue, 1}, {atHint, 1}, {atRespond, 1},
	{atReceive, 2}, {atClaim, 2}, {atReadLog, 1}, {atModel, 2},
	{atCommitTurn, 1}, {atTool, 2}, {atPutResult, 1},
	{atCommitStep, 2}, {atContinue, 1}, {atDeleteMessage, 2},
}

func TestKilledRunFinishesAfterRestart(t *testing.T) {
	for _, p := range passed {
		for _, side := range []string{"before", "after"} {
			for count := 1; count <= p.times; count++ {
				at := p.point + "." + side
				t.Run(fmt.Sprintf("%s_%d", at, count), func(t *testing.T) {
					t.Parallel()
					undisturbed(t, 3, func() error {
						here := place{data: filepath.Join(t.TempDir(), "data.db"), keys: filepath.Join(t.TempDir(), "keys")}
						first := here.start(t, at, count)
						run := first.submit(t)
						first.killed(t)
						return here.recovers(t, run)
					})
				})
			}
		}
	}
}

// recovering are the points that a restart passes.
var recovering = []string{atDue, atSweepHint, atReadLog, atClaim, atTool, atCommitStep}

// TestKilledRecoveryIsRecovered kills the host a second time, while it recovers.
func TestKilledRecoveryIsRecovered(t *testing.T) {
	for _, point := range recovering {
		for _, side := range []string{"before", "after"} {
			at := point + "." + side
			t.Run(at, func(t *testing.T) {
				t.Parallel()
				undisturbed(t, 3, func() error {
					here := place{data: filepath.Join(t.TempDir(), "data.db"), keys: filepath.Join(t.TempDir(), "keys")}
					first := here.start(t, "W8.after", 1)
					run := first.submit(t)
					first.killed(t)
					here.start(t, at, 1).killed(t)
					return here.recovers(t, run)
				})
			})
		}
	}
}

// recovers starts the host again and checks that nothing was lost or doubled.
// run is empty when the submission was not acknowledged: then the client tries
// again, as it would. The error is late's.
func (p place) recovers(t *testing.T, run string) error {
	t.Helper()
	before, stored := p.executions(t), p.results(t)
	second := p.start(t, "", 1)
	if second.url == "" {
		t.Fatal("the host did not listen after its restart")
	}
	if run == "" {
		run = second.submit(t)
	}
	second.finish(t, run)
	late := second.late()
	var got []string
	for _, m := range second.messages(t, "t1") {
		got = append(got, string(m.Role)+": "+m.Text())
	}
	want := []string{"user: parallel: a, b", "assistant: ", `tool: {"text":"a"}`, `tool: {"text":"b"}`, "assistant: Echo: a, b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages after the restart (-want +got):\n%s", diff)
	}
	second.stop(t)
	p.ranOnce(t, before, stored, 2)
	return late
}

// late, called when the run is over, is the error that it took longer than recovery.
func (l *process) late() error {
	if took := time.Since(l.listened); took > recovery {
		return fmt.Errorf("the run was over %s after the host listened, want at most %s", took, recovery)
	}
	return nil
}

// ranOnce compares what has run with what had run, and was stored, before the
// restart: nothing that had a result has run again, everything else once.
func (p place) ranOnce(t *testing.T, before map[string]int, stored map[string]bool, calls int) {
	t.Helper()
	after := p.executions(t)
	if len(after) != calls {
		t.Errorf("executions %v, want %d keys", after, calls)
	}
	for key, n := range after {
		want := before[key] + 1 // it had no result: the same key runs again
		if stored[key[strings.LastIndex(key, "/")+1:]] {
			want = before[key]
		}
		if n != want {
			t.Errorf("call %s was executed %d times, want %d (before the restart %d, result stored: %v)", key, n, want, before[key], stored)
		}
	}
}
