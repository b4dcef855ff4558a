package host_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// interference is what somebody does to a thread whose run is on its way.
type interference struct {
	name string
	act  func(t *testing.T, other *host.Host, first core.ID)
	ends []string // of the first run
	hi   int      // how often the text of the interference must be there, with its reply
	once bool     // no call may run twice
}

// send submits a text whose reply is "You said: hi".
func send(mode mailbox.Mode) func(t *testing.T, other *host.Host, first core.ID) {
	return func(t *testing.T, other *host.Host, _ core.ID) {
		s := submission("t1", "hi")
		s.Mode = mode
		if _, err := other.Submit(context.Background(), s); err != nil {
			t.Error(err)
		}
	}
}

var interferences = []interference{
	{
		name: "cancel", once: true, ends: []string{"cancelled"},
		act: func(t *testing.T, other *host.Host, first core.ID) {
			if err := other.CancelRun(context.Background(), local, first); err != nil {
				t.Error(err)
			}
		},
	},
	{name: "interrupt", once: true, ends: []string{"superseded"}, hi: 1, act: send(mailbox.ModeInterrupt)},
	{name: "queue", once: true, ends: []string{"natural_end"}, hi: 1, act: send(mailbox.ModeQueue)},
	{name: "steer", once: true, ends: []string{"natural_end"}, hi: 1, act: send(mailbox.ModeSteer)},
	{
		name: "reject", once: true, ends: []string{"natural_end"},
		act: func(t *testing.T, other *host.Host, _ core.ID) {
			s := submission("t1", "hi")
			s.Mode = mailbox.ModeReject
			if _, err := other.Submit(context.Background(), s); core.CodeOf(err) != core.CodeBusy {
				t.Errorf("a submission that rejects a busy thread: %v, want code busy", err)
			}
		},
	},
	{
		name: "a later claim, as after a pause longer than the lease", ends: []string{"natural_end"},
		act: func(t *testing.T, other *host.Host, _ core.ID) {
			key := core.ThreadKey{Tenant: "local", Thread: "t1"}
			if err := other.Reclaim(context.Background(), []core.ThreadKey{key}); err != nil {
				t.Error(err)
			}
			for range 2 {
				if err := other.WorkLocal(context.Background(), core.WakeUp{Tenant: "local", Thread: "t1"}); err != nil {
					t.Error(err)
				}
			}
		},
	},
}

// TestInterferenceAtEveryOperation runs a worker and lets somebody else act on
// the thread just before each operation that the worker makes of the store.
func TestInterferenceAtEveryOperation(t *testing.T) {
	ways := []struct {
		name       string
		listens    bool // a plugin wants to know of the run's end
		inline     bool
		from       int // first operation at which the run is there
		closing    int // first operation of a run that has come to its end; 0: none
		operations int // without an interference
	}{
		{"one step a delivery", false, false, 1, 0, 10},
		{"with a plugin that listens to the end", true, false, 1, 11, 12},
		{"inline", false, true, 3, 0, 7},
	}
	for _, way := range ways {
		for _, in := range interferences {
			t.Run(way.name+"/"+in.name, func(t *testing.T) {
				for k := way.from; k <= way.operations; k++ {
					synctest.Test(t, func(t *testing.T) {
						in := in
						if way.closing > 0 && k >= way.closing { // too late for another end
							in.ends = []string{"natural_end"}
						}
						if !interfereAt(t, in, k, way.listens, way.inline) {
							t.Errorf("the run made no operation %d, want %d", k, way.operations)
						}
					})
				}
			})
		}
	}
}

// interfereAt reports whether the worker came to operation k.
func interfereAt(t *testing.T, in interference, k int, listens, inline bool) bool {
	r := newRig(t)
	var heard ends
	listen := func(c *host.Options) {
		if listens {
			c.Agents.Plugins = []plugin.Plugin{&heard}
			c.Agents.Specs[0].Plugins = []string{"ends"}
		}
	}
	other := r.process("other", r.store, listen)
	way := newWay(r.store)
	way.at = k
	worker := r.process("worker", way, listen)
	s := submission("t1", "parallel: a, b")
	var first core.ID
	way.act = func() {
		if first.IsZero() {
			first = r.head(s.Thread).Run.ID
		}
		in.act(t, other, first)
	}
	if inline {
		receipt, err := worker.Stream(t.Context(), s, host.ListenerFunc(func(core.Event) error { return nil }))
		if err != nil {
			t.Errorf("operation %d: %v", k, err)
		}
		first = receipt.RunID
	} else {
		receipt, err := other.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		first = receipt.RunID
	}
	r.settle(worker, s.Thread)
	checkInterfered(t, r, in, first, k)
	if listens {
		heard.check(t, k, first, in)
	}
	return way.reached()
}

// checkInterfered checks what holds whoever came between: every call has its one
// result, no call ran twice, no text is lost or doubled, the run ended in one of
// the ways.
func checkInterfered(t *testing.T, r *rig, in interference, first core.ID, k int) {
	t.Helper()
	reader := r.process("reader", r.store)
	page, err := reader.Messages(t.Context(), local, "t1", host.MessageQuery{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	var open []string // calls that have no result yet
	for i, m := range page.Messages {
		if m.Role != core.RoleTool && len(open) > 0 {
			t.Errorf("operation %d: message %d comes before the results of %v", k, i, open)
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
		if m.Role == core.RoleTool {
			if len(open) == 0 || open[0] != m.ToolResult.CallID {
				t.Fatalf("operation %d: result of %s, open are %v", k, m.ToolResult.CallID, open)
			}
			open = open[1:]
		}
	}
	got := transcript(t, reader, "t1")
	if len(open) > 0 {
		t.Errorf("operation %d: calls %v are open in\n%s", k, open, strings.Join(got, "\n"))
	}
	count := func(line string) (n int) {
		for _, l := range got {
			if l == line {
				n++
			}
		}
		return n
	}
	record, err := reader.ReadRun(t.Context(), local, first)
	if err != nil || record.Status != core.RunDone || !slices.Contains(in.ends, string(record.Termination.Type)) {
		t.Errorf("operation %d: run %+v, %v", k, record, err)
	}
	begun := 0
	if record.FirstSeq > 0 {
		begun = 1
	}
	natural := 0
	if record.Termination != nil && record.Termination.Type == core.TerminationNatural {
		natural = 1
	}
	for line, want := range map[string]int{
		"user: parallel: a, b": begun, "user: hi": in.hi, "assistant: You said: hi": in.hi,
	} {
		if n := count(line); n != want {
			t.Errorf("operation %d: %q is there %d times, want %d, in\n%s", k, line, n, want, strings.Join(got, "\n"))
		}
	}
	// Steered before the first run's last turn, the text is what that turn is about.
	if n := count("assistant: Echo: a, b"); n > 1 || natural == 1 && n == 0 && in.name != "steer" {
		t.Errorf("operation %d: %d last turns in\n%s", k, n, strings.Join(got, "\n"))
	}
	if tail := got[max(0, len(got)-2):]; in.hi > 0 && !cmp.Equal(tail, []string{"user: hi", "assistant: You said: hi"}) {
		t.Errorf("operation %d: transcript\n%s", k, strings.Join(got, "\n"))
	}
	for call, n := range r.runs {
		if n > 1 && in.once {
			t.Errorf("operation %d: call %q was executed %d times", k, call, n)
		}
	}
}

// ends is a plugin that notes how each run ended.
type ends struct {
	mu   sync.Mutex
	runs map[core.ID][]string
}

func (*ends) ID() string { return "ends" }

func (e *ends) Register(r *plugin.Registrar) error {
	r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (state.Command, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.runs == nil {
			e.runs = map[core.ID][]string{}
		}
		e.runs[c.Run] = append(e.runs[c.Run], string(c.Termination.Type))
		return state.Command{}, nil
	})
	return nil
}

// check says that every run's end was heard once, with the real reason.
func (e *ends) check(t *testing.T, k int, first core.ID, in interference) {
	t.Helper()
	for run, heard := range e.runs {
		if len(heard) != 1 && in.once || run != first && heard[0] != "natural_end" {
			t.Errorf("operation %d: the ends of run %s are %v", k, run, heard)
		}
	}
	if k <= 2 && len(e.runs[first]) == 0 && in.ends[0] != "natural_end" {
		return // it was ended in the queue, before the claim
	}
	if heard := e.runs[first]; len(heard) == 0 || !slices.Contains(in.ends, heard[0]) {
		t.Errorf("operation %d: the ends of the first run are %v, want one of %v", k, heard, in.ends)
	}
}
