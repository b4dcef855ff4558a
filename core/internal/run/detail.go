package run

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/model"
)

// details are what clients read of runs that end with an error, by code. The
// errors of hooks, gates, tools, providers and stores can quote anything, such as
// addresses, keys and records, and never travel along.
var details = map[string]string{
	"plugin":           "a plugin failed",
	"tool":             "it ended the run with an error",
	"model":            "the model failed",
	"context_overflow": "the conversation is too long for the model, even without its older messages",
	"encoding":         "what the run made cannot be stored",
	"too_large":        "what the run made is too large to be stored",
	"resolution":       "the agent of the run is not there any more, or cannot be used",
}

// maxDetail bounds, in bytes, what a policy or a gate says for people: it is stored
// with the run's record, and every reader of the run is shown it.
const maxDetail = 4 << 10

// detail is the text that clients read about a run that ends with an error. A code
// without a fixed sentence is one that the runtime itself found. Its text is
// written for clients, in where or in the cause.
func detail(code, where string, cause error) string {
	var panicked *env.PanicError
	var failed *model.Error
	var gone *inference.GoneError
	var plug *engine.FailedError
	general := details[code]
	errors.As(cause, &panicked)
	if code == "plugin" && errors.As(cause, &plug) {
		general = fmt.Sprintf("plugin %q failed", plug.Plugin)
		if panicked != nil {
			general, panicked = fmt.Sprintf("plugin %q panicked", plug.Plugin), nil
		}
	}
	switch {
	case code == "model" && errors.As(cause, &gone):
		return gone.Public
	case code == "model" && errors.As(cause, &failed) && failed.Public != "":
		return failed.Public
	case panicked != nil && code == "stop_policy":
		return where + " panicked"
	case panicked != nil && code == "model":
		return "the model adapter panicked"
	case panicked != nil && where != "":
		return where + ": code of the agent panicked"
	case panicked != nil:
		return "code of the agent panicked"
	case where != "" && general != "":
		return where + ": " + general
	case where != "":
		return where
	case general != "":
		return general
	}
	return cause.Error()
}
