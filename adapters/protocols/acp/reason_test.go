package acp

import (
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/core"
)

func TestEveryEndHasItsStopReason(t *testing.T) {
	for _, test := range []struct {
		kind core.TerminationType
		code string
		want sdk.StopReason
	}{
		{"natural_end", "", "end_turn"},
		{"natural_end", "max_tokens", "max_tokens"},
		{"natural_end", "context_overflow", "max_tokens"},
		{"natural_end", "content_filter", "refusal"},
		{"behavior_requested", "", "end_turn"},
		{"behavior_requested", "handed_over", "end_turn"},
		{"stopped", "max_rounds", "max_turn_requests"},
		{"stopped", "timeout", "max_turn_requests"},
		{"stopped", "consecutive_errors", "max_turn_requests"},
		{"stopped", "loop_detection", "max_turn_requests"},
		{"stopped", "token_budget", "max_tokens"},
		{"stopped", "stop_on_tool", "end_turn"},
		{"stopped", "content_match", "end_turn"},
		{"stopped", "a_policy_of_ones_own", "max_turn_requests"},
		{"blocked", "", "refusal"},
		{"cancelled", "", "cancelled"},
		{"cancelled", "deleted", "cancelled"},
		{"superseded", "", "cancelled"},
		{"suspended", "", "end_turn"},
	} {
		got, err := stopReason(&core.Termination{Type: test.kind, Code: test.code})
		if err != nil || got != test.want {
			t.Errorf("%s %s: %s, %v, want %s", test.kind, test.code, got, err, test.want)
		}
	}
	if got, err := stopReason(nil); got != "end_turn" || err != nil {
		t.Errorf("no termination: %s, %v", got, err)
	}
}

func TestNoErrorHasAStopReason(t *testing.T) {
	for _, code := range []string{
		"", "model", "rate_limited", "timeout", "expired", "dead_letter", "resolution", "plugin", "stop_policy", "tool",
		"encoding", "too_large", "too_many_calls", "corrupt", "internal", "max_tokens", "max_rounds",
	} {
		if got, err := stopReason(&core.Termination{Type: core.TerminationError, Code: code}); err == nil || got != "" {
			t.Errorf("%q: %q, %v", code, got, err)
		}
	}
}

func TestErrorsOfRunsAreErrorsOfTheirPrompts(t *testing.T) {
	for _, test := range []struct {
		termination core.Termination
		want        string
	}{
		{core.Termination{Type: "error", Code: "model", Detail: "the provider refused"}, `{"code":-32603,"message":"the provider refused","data":{"code":"model"}}`},
		{core.Termination{Type: "error", Code: "dead_letter"}, `{"code":-32603,"message":"the run ended with the error dead_letter","data":{"code":"dead_letter"}}`},
		{core.Termination{Type: "error", Code: "expired"}, `{"code":-32603,"message":"the run ended with the error expired","data":{"code":"expired"}}`},
		{core.Termination{Type: "error", Code: "max_tokens"}, `{"code":-32603,"message":"the run ended with the error max_tokens","data":{"code":"max_tokens"}}`},
		{core.Termination{Type: "error"}, `{"code":-32603,"message":"the run ended with the error error","data":{"code":"error"}}`},
	} {
		got, err := stopReason(&test.termination)
		if err == nil || got != "" || err.Error() != test.want {
			t.Errorf("%+v: %q, %v, want %s", test.termination, got, err, test.want)
		}
	}
}
