package run

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// Of what a commit has changed each failed action is logged, whether it was added to the
// others or is the first of them, and nothing that is none.
func TestWhichFailedActionsAreLogged(t *testing.T) {
	action := func(key string) string {
		return `{"action":{"key":"` + key + `","phase":"before_inference"},"error":"wrong"}`
	}
	tests := []struct {
		name  string
		patch state.Patch
		want  []string
	}{
		{"the first", state.Patch{{Op: "add", Path: failedActions, Value: json.RawMessage("[" + action("a") + "," + action("b") + "]")}},
			[]string{"level=WARN msg=\"scheduled action failed\" tenant=t thread=u run=" + core.ID{1}.String() + " step=3 action=a phase=before_inference error=wrong",
				"level=WARN msg=\"scheduled action failed\" tenant=t thread=u run=" + core.ID{1}.String() + " step=3 action=b phase=before_inference error=wrong"}},
		{"one more", state.Patch{{Op: "add", Path: failedActions + "/2", Value: json.RawMessage(action("c"))}},
			[]string{"level=WARN msg=\"scheduled action failed\" tenant=t thread=u run=" + core.ID{1}.String() + " step=3 action=c phase=before_inference error=wrong"}},
		{"none", state.Patch{
			{Op: "remove", Path: failedActions}, {Op: "remove", Path: failedActions + "/0"},
			{Op: "add", Path: "/run/other", Value: json.RawMessage("[" + action("d") + "]")},
			{Op: "replace", Path: failedActions, Value: json.RawMessage(`"e"`)}, {Op: "replace", Path: failedActions + "/0/error", Value: json.RawMessage(`"f"`)},
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			handler := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})
			events := history.NewEmitter(core.ID{1}, 1, nil)
			events.Enter(3)
			warnOfFailedActions(t.Context(), &logger{slog.New(handler), &core.ThreadKey{Tenant: "t", Thread: "u"}, &core.ID{1}, &events}, []thread.Entry{{}, {Patch: tt.patch}})
			var lines []string
			for line := range strings.Lines(log.String()) {
				lines = append(lines, strings.TrimSpace(line))
			}
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}
