package run

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// failedActions is the place of a run's failed actions in its state.
var failedActions = state.KeyPath{Scope: engine.FailedScheduledActions.Scope, Name: engine.FailedScheduledActions.Name}.String()

// warnOfFailedActions logs the scheduled actions whose failure was just committed.
// An action that fails ends nothing: only the model would notice, for example, a
// context message with a wrong target. It is read off the patches, so that a step
// without a failure pays nothing for it.
func warnOfFailedActions(ctx context.Context, log *logger, committed []thread.Entry) {
	for _, entry := range committed {
		for _, o := range entry.Patch {
			rest, found := strings.CutPrefix(o.Path, failedActions)
			if !found {
				continue
			}
			var failed []engine.FailedAction // what is removed has no value to read
			if rest != "" {                  // one that was appended
				failed = make([]engine.FailedAction, 1)
				if json.Unmarshal(o.Value, &failed[0]) != nil {
					continue
				}
			} else if json.Unmarshal(o.Value, &failed) != nil {
				continue
			}
			for _, f := range failed {
				log.warn(ctx, "scheduled action failed", "action", f.Action.Key, "phase", f.Action.Phase, "error", f.Error)
			}
		}
	}
}
