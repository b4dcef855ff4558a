package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

var modes = []agent.ExecutionMode{agent.Sequential, agent.ParallelBatchApproval, agent.ParallelStreaming}

// fates are what becomes of the first of two calls that wait; the second is
// approved.
var fates = []string{"approve", "deny", "the tool fails", "the gate blocks", "suspends again", "edit", "edit, suspends again"}

// orders are those in which two open tickets are decided.
var orders = [][]int{{0, 1}, {1, 0}}

// decided is a run of two calls whose gate asks for both.
type decided struct {
	*world
	options    options
	fate       string
	order      []int
	did        []string // executions
	inferences int
	events     events
}

func newDecided(t *testing.T, mode agent.ExecutionMode, fate string, order []int) *decided {
	d := &decided{fate: fate, order: order}
	said := replies(calls("act", `{"n":0}`, "act", `{"n":1}`), text("ok"))
	d.options = options{
		mode: mode,
		model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			d.inferences++
			return said(ctx, r)
		}),
		plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
			if c.CallIndex == 0 && c.Resume != nil && fate == "the gate blocks" {
				return plugin.Block("on second thoughts"), nil
			}
			return suspends(fmt.Sprintf("gate%d", c.CallIndex)), nil
		})},
	}
	d.options.tools = []tool.Tool{noted("act", &d.did, func(c tool.Call) (tool.Result, error) {
		first := string(c.Arguments) == `{"n":0}`
		switch {
		case first && fate == "the tool fails":
			return tool.Result{}, errors.New("no such file")
		case c.Index == 0 && strings.HasSuffix(fate, "suspends again") && c.Resume.Suspension == "gate0":
			return tool.Suspended(core.TicketRequest{ID: "tool0", Action: "tool:ask"}), nil
		case c.Index == 0 && strings.HasPrefix(fate, "edit"):
			return tool.NewResult(c.Arguments), nil
		}
		return tool.NewResult("done"), nil
	})}
	d.world = newWorld(t, d.options)
	return d
}

// run takes the run to its end: whenever nothing is due, the first open ticket of
// the order is decided. dies, if any, is where a process dies.
func (d *decided) run(t *testing.T, dies func()) mailbox.Receipt {
	t.Helper()
	receipt := d.submit(t, key, "go", mailbox.ModeQueue)
	dies()
	for range 20 {
		d.work(t, d.options, d.events.sink)
		head := d.head(t, key)
		if !head.Open() {
			return receipt
		}
		for _, call := range d.order {
			at := slices.IndexFunc(head.Tickets, func(t thread.Ticket) bool { return int(t.Call) == call && t.Decision == 0 })
			if at < 0 {
				continue
			}
			decision := approve
			switch {
			case call == 0 && d.fate == "deny":
				decision = deny
			case call == 0 && strings.HasPrefix(d.fate, "edit") && head.Tickets[at].ID == thread.TicketKey(head.Run.ID, "gate0"):
				decision.Arguments = json.RawMessage(`{"n":7}`)
			}
			d.events.lines = append(d.events.lines, fmt.Sprintf("-- call %d is decided", call))
			if err := d.decide(t.Context(), call, decision); err != nil && !d.store.dead.Load() {
				t.Fatal(err)
			}
			break
		}
	}
	t.Fatal("the run does not end")
	return receipt
}

// Mode x what becomes of a call x order of decisions: executions, inferences,
// events, log and records, each as it stands in testdata.
func TestDecisions(t *testing.T) {
	var got bytes.Buffer
	for _, mode := range modes {
		for _, fate := range fates {
			for _, order := range orders {
				synctest.Test(t, func(t *testing.T) {
					d := newDecided(t, mode, fate, order)
					receipt := d.run(t, func() {})
					fmt.Fprintf(&got, "# %s, %s, in the order %v\n", mode, fate, order)
					fmt.Fprintf(&got, "executions: %q\ninferences: %d\n", d.did, d.inferences)
					fmt.Fprintf(&got, "events:\n  %s\n", strings.Join(brief(d.events.lines), "\n  "))
					fmt.Fprintf(&got, "results:\n  %s\n", strings.Join(d.results(t), "\n  "))
					records := append(d.stored(t, "C#", receipt.RunID), d.stored(t, "D#", receipt.RunID)...)
					fmt.Fprintf(&got, "records:\n  %s\n", strings.Join(records, "\n  "))
					fmt.Fprintf(&got, "end: %s\n\n", d.end(t, key, receipt))
				})
			}
		}
	}
	path := filepath.Join("testdata", "decisions.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// brief leaves out how the turn was said.
func brief(lines []string) (left []string) {
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "tool_call_start"), strings.HasPrefix(line, "tool_call_delta"), strings.HasPrefix(line, "tool_call_ready"),
			strings.HasPrefix(line, "run_start"), strings.HasPrefix(line, "step_start"), strings.HasPrefix(line, "text_delta"):
		default:
			left = append(left, line)
		}
	}
	return left
}

// mayHaveRun is why a call did not run, of which the next process cannot know that the one
// which died had not begun it either.
var mayHaveRun = regexp.MustCompile(`not executed: an earlier call was blocked`)

// Whatever happens to one write, the run comes to the same results. No tool runs
// more than twice for it, and only a process that died runs one again.
func TestDecisionsSurviveAMishapAtEveryWrite(t *testing.T) {
	for _, mode := range modes {
		for _, fate := range fates {
			for _, order := range orders {
				t.Run(fmt.Sprintf("%s/%s/%v", mode, fate, order), func(t *testing.T) {
					if underRace && (order[0] != 0 || mode != agent.ParallelStreaming && fate != "approve") {
						t.Skip("without the race detector only")
					}
					var want []string
					synctest.Test(t, func(t *testing.T) {
						d := newDecided(t, mode, fate, order)
						receipt := d.run(t, func() {})
						want = append(d.results(t), d.end(t, key, receipt))
					})
					for _, m := range mishaps {
						writes := 0
						for reached := true; reached; {
							writes++
							synctest.Test(t, func(t *testing.T) {
								d := newDecided(t, mode, fate, order)
								befallen := func() bool { return false }
								receipt := d.run(t, func() { befallen = d.befall(writes, m) })
								reached = befallen()
								got := append(d.results(t), d.end(t, key, receipt))
								for i := range got {
									if m.dies && want[i] == "not_executed: "+mayHaveRun.FindString(got[i]) {
										got[i] = want[i]
									}
								}
								if diff := cmp.Diff(want, got); diff != "" {
									t.Errorf("%s at write %d: results and end (-want +got):\n%s", m.name, writes, diff)
								}
								if most := mostOf(d.did); most > 2 || most > 1 && !m.dies {
									t.Errorf("%s at write %d: a call ran %d times: %q", m.name, writes, most, d.did)
								}
							})
						}
						if writes < 8 {
							t.Errorf("the run made only %d writes", writes)
						}
					}
				})
			}
		}
	}
}

// mostOf is how often the commonest of the lines stands there.
func mostOf(lines []string) (most int) {
	count := map[string]int{}
	for _, line := range lines {
		count[line]++
		most = max(most, count[line])
	}
	return most
}
