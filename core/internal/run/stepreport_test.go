package run_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

// Each step has one report: how late it was, which calls of the model failed, and how the
// run is if it has ended or waits.
func TestStepsReport(t *testing.T) {
	for _, tt := range []struct {
		name    string
		input   string
		options options
		late    time.Duration
		act     func(t *testing.T, w *world)
		want    []string
	}{
		{"two steps", "echo: a", options{}, 0, nil, []string{"demo: reported ", "demo: reported done natural_end"}},
		{"a late start", "echo: a", options{}, 90 * time.Second, nil, []string{"demo: reported , late 1m30s", "demo: reported done natural_end"}},
		{"calls that other deliveries make again", "hi", options{model: failing(2, &model.Error{Kind: model.KindRateLimited}, new(int))}, 0, nil, []string{
			"demo: reported  rate_limited", "demo: reported  rate_limited", "demo: reported done natural_end",
		}},
		{"calls that fail for the last time", "hi", options{agents: spec(t, failing(9, &model.Error{Kind: model.KindProvider}, new(int)), impatient())}, 0, nil, []string{
			"demo: reported  provider", "demo: reported  provider", "demo: reported done error model provider",
		}},
		{"a permanent failure", "fail", options{}, 0, nil, []string{"demo: reported done error model invalid_request"}},
		{"a wait, and a decision a minute late", "echo: a", options{plugins: []plugin.Plugin{once("")}}, 0, func(t *testing.T, w *world) {
			w.mustDecide(t, 0, approve)
			time.Sleep(2 * time.Minute)
			w.finish(t, key, nil)
		}, []string{"demo: reported waiting", "demo: reported ", "demo: reported done natural_end"}},
		{"a cancel", "echo: a", options{plugins: []plugin.Plugin{once("")}}, 0, func(t *testing.T, w *world) {
			if _, err := w.box.Cancel(t.Context(), key, core.ID{}); err != nil {
				t.Fatal(err)
			}
			w.finish(t, key, nil)
		}, []string{"demo: reported waiting", "demo: reported done cancelled"}},
		{"a decision that does not come in time", "echo: a", options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
			v := suspends("ask")
			v.Suspend.Timeout = time.Hour
			return v, nil
		})}}, 0, func(t *testing.T, w *world) {
			time.Sleep(2 * time.Hour)
			w.finish(t, key, nil)
		}, []string{"demo: reported waiting", "demo: reported done error expired"}},
		{"a run that was behind another for 90 s", "slow: 900", options{}, 0, nil, []string{"demo: reported done natural_end", "demo: reported done natural_end"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &seen{}
				tt.options.observer = s
				w := newWorld(t, tt.options)
				w.submit(t, key, tt.input, mailbox.ModeQueue)
				if strings.HasPrefix(tt.input, "slow") {
					w.submit(t, key, "second", mailbox.ModeQueue)
				}
				time.Sleep(tt.late)
				w.finish(t, key, nil)
				if tt.act != nil {
					tt.act(t, w)
				}
				if diff := cmp.Diff(tt.want, s.reports); diff != "" {
					t.Errorf("reports (-want +got):\n%s", diff)
				}
			})
		})
	}
}
