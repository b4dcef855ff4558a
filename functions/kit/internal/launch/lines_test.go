package launch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
)

// told are the metrics and the dimensions of the lines that a report writes.
func told(t *testing.T, r host.StepReport) (lines []string) {
	t.Helper()
	var log bytes.Buffer
	c := &cloud.Function{Kind: "stream", Env: env.System()}
	c.Settings.Stack = "arn:aws:cloudformation:eu-west-1:111122223333:stack/prod/0f1e"
	report(write(&log, c, nil), r)
	for line := range bytes.Lines(log.Bytes()) {
		var l struct {
			Stack, Function, Outcome, Code, Kind, Tenant, Model string
			Runs, Failed, ModelErrors, LateWakeUps, Lateness    int
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%+v", l))
	}
	return lines
}

// A step has a line for each thing that it has to tell, and most have none.
func TestWhatAStepWrites(t *testing.T) {
	key := core.ThreadKey{Tenant: "acme", Thread: "t1"}
	limited, down := host.ModelFailure{Provider: "p", Model: "m", Kind: "rate_limited"}, host.ModelFailure{Provider: "p", Model: "m", Kind: "provider"}
	for _, tt := range []struct {
		name   string
		report host.StepReport
		want   []string
	}{
		{"nothing", host.StepReport{Key: key, Late: time.Minute}, nil},
		{"an end that is late, after three failed calls", host.StepReport{
			Key: key, Late: 2 * time.Minute, Ended: true, Failures: []host.ModelFailure{limited, down, limited},
			Run: core.Run{Status: core.RunDone, Termination: &core.Termination{Type: core.TerminationError, Code: "model"}},
		}, []string{
			"{Stack:prod Function:stream Outcome: Code: Kind: Tenant:acme Model: Runs:0 Failed:0 ModelErrors:0 LateWakeUps:1 Lateness:120000}",
			"{Stack:prod Function:stream Outcome: Code: Kind:rate_limited Tenant:acme Model:m Runs:0 Failed:0 ModelErrors:2 LateWakeUps:0 Lateness:0}",
			"{Stack:prod Function:stream Outcome: Code: Kind:provider Tenant:acme Model:m Runs:0 Failed:0 ModelErrors:1 LateWakeUps:0 Lateness:0}",
			"{Stack:prod Function:stream Outcome:error Code:model Kind: Tenant:acme Model: Runs:1 Failed:1 ModelErrors:0 LateWakeUps:0 Lateness:0}",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			failures := slices.Clone(tt.report.Failures)
			if diff := cmp.Diff(tt.want, told(t, tt.report)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if !slices.Equal(failures, tt.report.Failures) {
				t.Error("the report was changed")
			}
		})
	}
}

// A model without a price has a cost that is not known.
func TestUsageIsWrittenWhereItIsRecorded(t *testing.T) {
	var log bytes.Buffer
	c := &cloud.Function{Kind: "step", Env: env.System()}
	m := &host.Metering{Models: &catalog.Catalog{}}
	write(&log, c, m)
	m.Ended("acme", account.Record{End: "natural_end", Models: []core.ModelUse{{Provider: "p", Model: "m", Inferences: 1}}})
	if !strings.Contains(log.String(), `"tenant":"acme"`) || !strings.Contains(log.String(), `"usd":null`) {
		t.Errorf("the stretch wrote %s", log.String())
	}
}
