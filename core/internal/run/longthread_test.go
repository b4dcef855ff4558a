package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A process makes the requests of a long thread from what it has kept of the ones before, and
// they are those of a process that reads everything: with the message that a run began with
// before them, large results as references, messages that were withdrawn, cuts, and
// transforms, even one that writes into the shared slice now and then. What a model received
// stays what it was.
func TestRequestsOfALongThreadAreThoseOfAColdProcess(t *testing.T) {
	for _, transformed := range []bool{false, true} {
		warm, cold := playLong(t, transformed, false), playLong(t, transformed, true)
		if diff := cmp.Diff(cold.records, warm.records); diff != "" {
			t.Errorf("transformed %v: records (-cold +warm):\n%s", transformed, diff)
		}
		if diff := cmp.Diff(cold.requests, warm.requests); diff != "" {
			t.Errorf("transformed %v: requests (-cold +warm):\n%s", transformed, diff)
		}
		written := strings.Count(strings.Join(warm.requests, ""), "(redacted)")
		if warm.long < 40 || warm.fronts < 20 || warm.references == 0 || warm.cuts == 0 || (written > 0) != transformed {
			t.Errorf("transformed %v: of %d requests %d are long, %d have a front, %d a reference, %d messages are written, %d cuts",
				transformed, len(warm.requests), warm.long, warm.fronts, warm.references, written, warm.cuts)
		}
	}
}

type longPlay struct {
	requests, records              []string
	long, fronts, references, cuts int
}

// playLong plays a thread of four runs of 45 steps.
func playLong(t *testing.T, transformed, cold bool) (o longPlay) {
	synctest.Test(t, func(t *testing.T) {
		seen := func(r model.Request) {
			o.requests = append(o.requests, canonical(r))
			if len(r.Messages) >= 32 {
				o.long++
			}
			if strings.HasPrefix(r.Messages[0].Text(), "question ") && r.Messages[1].Role == core.RoleAssistant && r.Messages[1].Step > 1 {
				o.fronts++
			}
			o.references += strings.Count(o.requests[len(o.requests)-1], "[Shortened: ")
		}
		m := &counting{perByte: 300, say: func(n int, r model.Request) []model.Delta {
			seen(r)
			switch {
			case n%45 == 0:
				return text("done " + strings.Repeat("so ", 20))
			case n%13 == 0:
				return calls("large", "{}")
			}
			return calls("echo", fmt.Sprintf(`{"text":"%s"}`, strings.Repeat("b", n%5*30)))
		}}
		var plugins []plugin.Plugin
		if transformed {
			plugins = append(plugins, pluginFunc{"redacts", func(r *plugin.Registrar) { r.Transform(redact) }})
		}
		opts := options{env: seeded(), agents: bound(t, m, 9_000, agent.Spec{}, []tool.Tool{largeTool}, plugins...)}
		w := newWorld(t, opts)
		began := uint64(0)
		for i := range 4 {
			if i%3 == 2 { // in place of the run before
				w.supersedes(t, began, fmt.Sprint("question ", i))
			} else {
				began = w.head(t, key).Seq + 1
				w.submit(t, key, fmt.Sprint("question ", i), mailbox.ModeQueue)
			}
			for w.head(t, key).DueAt != 0 {
				if cold {
					w.stepper = w.other(t, opts)
				}
				w.stepTo(t, key, func(e core.Event) error {
					if e.Type == core.EventPrefixChanged && e.Reason == "cut" {
						o.cuts++
					}
					return nil
				})
			}
		}
		for i, r := range m.requests {
			if canonical(r) != o.requests[i] {
				t.Errorf("request %d was changed after its model had received it", i)
			}
		}
		for seq := uint64(1); seq <= w.head(t, key).Seq; seq++ {
			o.records = append(o.records, string(w.record(t, store.LogName(seq)).Payload))
		}
	})
	return o
}

// redact is a transform that follows from the request alone: now and then it writes into the
// slice that it was given, or returns another one.
func redact(_ context.Context, _ plugin.BeforeInference, request *model.Request) error {
	n := len(request.Messages)
	switch note := core.UserMessage("(redacted)").WithID("redacted"); {
	case n%5 == 0:
		request.Messages[0] = note
	case n%7 == 0:
		request.Messages = append(slices.Clone(request.Messages), note)
	case n%11 == 0:
		request.Messages = append(request.Messages, note)
	}
	return nil
}
