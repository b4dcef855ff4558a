package acp

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/core/account"
)

func TestALimitIsToldWithItsEnd(t *testing.T) {
	day := &account.ReachedError{Limit: account.SpendADay, Allowed: "1", Used: "1.5", Ends: 1_795_392_000_000}
	place := &account.ReachedError{Limit: account.ConcurrentRuns, Allowed: "2", Used: "2"}
	for _, tt := range []struct {
		err  error
		want sdk.RequestError
	}{
		{day, sdk.RequestError{Code: -32600, Message: "start: " + day.Error(), Data: details{Code: "tenant_spend_limit", Limit: "spend_a_day_usd", EndsAt: "2026-11-23T00:00:00Z"}}},
		{place, sdk.RequestError{Code: -32600, Message: "start: " + place.Error(), Data: details{Code: "tenant_limit", Limit: "concurrent_runs"}}},
	} {
		got := refusal(slog.New(slog.DiscardHandler), fmt.Errorf("start: %w", tt.err))
		if diff := cmp.Diff(tt.want, *got); diff != "" {
			t.Error(diff)
		}
	}
}
