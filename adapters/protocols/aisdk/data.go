package aisdk

import (
	"github.com/reveille-run/reveille/core"
)

// Data without chunks in the protocol: the state, and the progress of the run.

// data emits a part of the application's own. It is transient: a client hands it on and
// keeps it in no message, so that a replay repeats nothing there.
func (e *encoder) data(name string, value any) {
	e.emit(chunk{Type: name, Data: value, Transient: true})
}

// telemetry emits the data of an event that is no part of the message.
func (e *encoder) telemetry(event core.Event) {
	switch event.Type {
	case core.EventToolCallResumed:
		e.data("data-tool-call-resumed", resumed{event.CallID, event.DecisionID, event.Action, event.DecidedBy})
	case core.EventInferenceRetry:
		e.data("data-inference-retry", retry{event.Failed, event.Wait, event.Reason})
	case core.EventModelSwitch:
		e.data("data-model-switch", modelSwitch{event.From, event.Model, event.Reason, event.Failed})
	case core.EventModelCircuit:
		e.data("data-model-circuit", modelCircuit{event.Model, event.Status, event.Wait})
	case core.EventPrefixChanged:
		e.data("data-prefix-changed", changed{event.Reason})
	case core.EventContextCompacted:
		e.data("data-context-compacted", compacted{event.UpTo, event.TokensBefore, event.TokensAfter})
	case core.EventContextSkipped:
		e.data("data-context-skipped", skipped{event.UpTo, event.Reason})
	case core.EventStateSnapshot:
		e.data("data-state-snapshot", event.Snapshot)
	case core.EventStateDelta:
		e.data("data-state-delta", event.Patch)
	}
}

// runInfo is the data of data-run-info.
type runInfo struct {
	RunID    core.ID `json:"runId"`
	ThreadID string  `json:"threadId"`
	AgentID  string  `json:"agentId"`
}

func (e *encoder) runInfo(event core.Event) {
	e.data("data-run-info", runInfo{event.RunID, event.ThreadID, event.AgentID})
}

// inference is the data of data-inference-complete, with the names of the client's
// packages. Values that the provider does not report are absent.
type inference struct {
	Model      string          `json:"model"`
	StopReason core.StopReason `json:"stopReason"`
	Usage      usage           `json:"usage"`
	Duration   int64           `json:"durationMs,omitempty"`
}

type usage struct {
	Input     int `json:"inputTokens,omitempty"`
	Output    int `json:"outputTokens,omitempty"`
	Total     int `json:"totalTokens,omitempty"`
	Cached    int `json:"cachedInputTokens,omitempty"`
	Reasoning int `json:"reasoningTokens,omitempty"`
}

func (e *encoder) inference(event core.Event) {
	told := inference{Model: event.Model, StopReason: event.StopReason, Duration: event.Duration}
	if u := event.Usage; u != nil {
		told.Usage = usage{u.Input, u.Output, u.Input + u.Output, u.CacheRead, u.Reasoning}
	}
	e.data("data-inference-complete", told)
}

// changed is the data of data-prefix-changed.
type changed struct {
	Reason string `json:"reason"`
}

// compacted is the data of data-context-compacted: a summary replaces the messages up to
// a sequence of the log.
type compacted struct {
	UpTo   uint64 `json:"upTo"`
	Before int    `json:"tokensBefore"` // of what it takes the place of
	After  int    `json:"tokensAfter"`
}

// skipped is the data of data-context-skipped: a summary could not be made.
type skipped struct {
	UpTo   uint64 `json:"upTo"`
	Reason string `json:"reason"`
}

// retry is the data of data-inference-retry.
type retry struct {
	Failed int    `json:"failed"`
	Wait   int64  `json:"waitMs"`
	Reason string `json:"reason"`
}

// modelSwitch is the data of data-model-switch: the run continues with another model.
type modelSwitch struct {
	From   string `json:"from"`
	Model  string `json:"model"`
	Reason string `json:"reason"`
	Failed int    `json:"failed,omitempty"`
}

// modelCircuit is the data of data-model-circuit: the state of a model's circuit in the
// process that runs the step.
type modelCircuit struct {
	Model string `json:"model"`
	State string `json:"state"`
	Wait  int64  `json:"waitMs,omitempty"`
}

// resumed is the data of data-tool-call-resumed: a call that waited continues after a decision.
type resumed struct {
	CallID     string              `json:"toolCallId"`
	DecisionID string              `json:"decisionId"`
	Action     core.DecisionAction `json:"action"`
	DecidedBy  *core.Decider       `json:"decidedBy,omitempty"`
}
