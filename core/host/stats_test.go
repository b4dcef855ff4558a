package host_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/tool"
)

// A run at work and a tool that does not end are counted, each while it lasts.
func TestStatsCountWhatTheProcessWorksOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, release := env.System(), make(chan struct{})
		stuck := tool.New(tool.Spec{Name: "stuck", Timeout: time.Second}, func(context.Context, tool.Call, struct{}) (string, error) {
			<-release
			return "late", nil
		})
		r, err := host.New(host.Options{Env: e, Logger: slog.New(slog.DiscardHandler), Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(e)}},
			Tools:  []tool.Tool{stuck},
			Specs:  []agent.Spec{{ID: "demo", Model: "m"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when string, want host.Stats) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, r.Stats()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		ended := make(chan error, 1)
		go func() {
			_, err := r.Play(t.Context(), mailbox.Submission{
				Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("call: stuck {}")},
			}, nil, nil)
			ended <- err
		}()
		expect("while the tool runs", host.Stats{Working: 1})
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		expect("after the run", host.Stats{Abandoned: 1})
		close(release)
		expect("after the tool", host.Stats{})
	})
}
