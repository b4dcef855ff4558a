package run

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/model"
)

func TestWhatClientsReadOfAFailure(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7:443: key sk-1 refused")
	panicked := &env.PanicError{Value: secret}
	public := &model.Error{Kind: model.KindRateLimited, Message: secret.Error(), Public: "the quota is used up"}
	for _, tt := range []struct {
		name, code, where string
		cause             error
		want              string
	}{
		{"a model that says nothing for clients", "model", "", &model.Error{Message: secret.Error()}, "the model failed"},
		{"a model that does", "model", "", fmt.Errorf("call: %w", public), "the quota is used up"},
		{"what a model says, of something else", "plugin", "", public, "a plugin failed"},
		{"a model adapter that panicked", "model", "", fmt.Errorf("call: %w", panicked), "the model adapter panicked"},
		{"a hook that panicked", "plugin", "phase run_start", panicked, "phase run_start: code of the agent panicked"},
		{"a hook", "plugin", "phase run_start", secret, "phase run_start: a plugin failed"},
		{"a hook of a known plugin", "plugin", "phase run_start", &engine.FailedError{Plugin: "p", Cause: secret}, `phase run_start: plugin "p" failed`},
		{"one that panicked", "plugin", "phase run_start", &engine.FailedError{Plugin: "p", Cause: panicked}, `phase run_start: plugin "p" panicked`},
		{"a known plugin, of something else", "tool", "call c1", &engine.FailedError{Plugin: "p", Cause: secret}, "call c1: it ended the run with an error"},
		{"a hook that panicked somewhere", "plugin", "", panicked, "code of the agent panicked"},
		{"a policy that panicked", "stop_policy", `stop policy "x"`, panicked, `stop policy "x" panicked`},
		{"a pool whose members are gone", "model", "", &inference.GoneError{Public: "no member is left", Cause: secret}, "no member is left"},
		{"a pool, of something else", "tool", "", &inference.GoneError{Public: "no member is left", Cause: secret}, "it ended the run with an error"},
		{"a record", "encoding", "", secret, "what the run made cannot be stored"},
		{"a record's size", "too_large", "", secret, "what the run made is too large to be stored"},
		{"an agent", "resolution", "", secret, "the agent of the run is not there any more, or cannot be used"},
		{"a tool", "tool", "call c1", secret, "call c1: it ended the run with an error"},
		{"the runtime's own code, with a place", "conflict", "plugin a and b", secret, "plugin a and b"},
		{"the runtime's own code", "too_many_calls", "", errors.New("the model asked for 65 tool calls"), "the model asked for 65 tool calls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := detail(tt.code, tt.where, tt.cause); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
