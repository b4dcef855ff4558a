package httpapi

import (
	"net/http"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// limitsOf is the wire form of a tenant's limits.
type limitsOf struct {
	Limits *limitsSet  `json:"limits,omitempty"` // absent: the tenant has no limits
	Used   *limitsUsed `json:"used,omitempty"`
	EndsAt string      `json:"ends_at,omitempty"` // end of the day, RFC 3339
}

// limitsSet are the limits; an absent one does not limit.
type limitsSet struct {
	RunsADay       int64    `json:"runs_a_day,omitempty"`
	TokensADay     int64    `json:"tokens_a_day,omitempty"`
	SpendADay      core.USD `json:"spend_a_day_usd,omitempty"`
	ConcurrentRuns int      `json:"concurrent_runs"`
}

// limitsUsed is the usage of a tenant under its limits.
type limitsUsed struct {
	Runs       int64    `json:"runs"`
	Tokens     int64    `json:"tokens"`
	Spend      core.USD `json:"spend_usd"`
	Concurrent int      `json:"concurrent_runs"`
}

// getLimits shows a tenant its own limits.
func (a *api) getLimits(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	got, err := a.Host.Limits(r.Context(), id.Tenant)
	if err != nil {
		return err
	}
	var shown limitsOf
	if !got.IsZero() {
		shown = limitsOf{
			Limits: &limitsSet{got.RunsADay, got.TokensADay, got.SpendADay, got.ConcurrentRuns}, EndsAt: time.UnixMilli(got.Ends).UTC().Format(time.RFC3339),
			Used: &limitsUsed{Runs: got.Used.Runs, Tokens: got.Used.Tokens, Spend: got.Used.Spend, Concurrent: len(got.Used.Slots)},
		}
	}
	protocol.JSON(w, http.StatusOK, shown)
	return nil
}
