package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// killedVariable holds the file on which a child process of this test works.
const killedVariable = "BOLT_KILLED_FILE"

// Work takes up what a killed process has left, without waiting for its lease: a run in the
// middle of a tool, and one that it had only queued.
func TestWorkTakesUpWhatAKilledProcessLeft(t *testing.T) {
	if path := os.Getenv(killedVariable); path != "" {
		workUntilKilled(t, path)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := newPath(t)
	command := exec.CommandContext(t.Context(), binary, "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), killedVariable+"="+path)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var runs []core.ID
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if lines.Text() == "inside" {
			_ = command.Process.Kill()
			continue
		}
		id, err := core.ParseID(lines.Text())
		if err != nil {
			t.Errorf("the child says %q", lines.Text())
		}
		runs = append(runs, id)
	}
	_ = command.Wait() // killed
	if len(runs) != 2 {
		t.Fatalf("%d runs were submitted, want 2", len(runs))
	}

	r := program(t, open(t, path, bolt.Options{}), func() {})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Work(ctx) }()
	began := time.Now()
	for _, id := range runs {
		result, err := r.Await(ctx, core.Identity{Tenant: "acme"}, id)
		if want := "The result of hold: held"; err != nil || result.Text != want {
			t.Errorf("run %s: %q, %v; want %q", id, result.Text, err, want)
		}
	}
	if took := time.Since(began); took > 20*time.Second { // a lease has 30
		t.Errorf("the runs end after %s", took)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// program is a runtime with a tool that calls inside.
func program(t *testing.T, over store.Backend, inside func()) *host.Host {
	t.Helper()
	hold := tool.New(tool.Spec{Name: "hold"}, func(context.Context, tool.Call, struct{}) (string, error) {
		inside()
		return "held", nil
	})
	r, err := host.New(host.Options{
		Store: over, Logger: slog.New(slog.DiscardHandler), Workers: 1,
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(env.System())}},
			Tools:  []tool.Tool{hold},
			Specs:  []agent.Spec{{ID: "demo", Model: "m"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// workUntilKilled submits two runs, of which the only worker takes one.
func workUntilKilled(t *testing.T, path string) {
	r := program(t, open(t, path, bolt.Options{}), func() {
		fmt.Println("inside")
		select {} // until the process is killed
	})
	for _, name := range []string{"t1", "t2"} {
		receipt, err := r.Submit(t.Context(), mailbox.Submission{
			Thread: core.ThreadKey{Tenant: "acme", Thread: name}, Opening: mailbox.Opening{AgentID: "demo"},
			Messages: []core.Message{core.UserMessage("call: hold")},
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(receipt.RunID)
	}
	t.Fatal(r.Work(t.Context()))
}
