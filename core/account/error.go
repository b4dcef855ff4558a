package account

import (
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
)

// LimitKind names a limit, as clients see it.
type LimitKind string

// The limits.
const (
	RunsADay       LimitKind = "runs_a_day"
	TokensADay     LimitKind = "tokens_a_day"
	SpendADay      LimitKind = "spend_a_day_usd"
	ConcurrentRuns LimitKind = "concurrent_runs"
)

// The error that a ReachedError wraps: errSpent for the limit of money, else errReached.
var (
	errReached = core.Errorf(core.CodeTenantLimit, "the tenant has reached a limit")
	errSpent   = core.Errorf(core.CodeTenantSpend, "the tenant has reached its spend limit of the day")
)

// ReachedError is a limit that a tenant has reached. Its code is core.CodeTenantSpend for the
// limit of money, else core.CodeTenantLimit.
type ReachedError struct {
	Limit   LimitKind
	Allowed string // as in the limits: a number, of SpendADay dollars
	Used    string
	Ends    int64 // unix milliseconds: the limit of a day ends with the day; 0: as soon as a run waits or ends
}

// Error implements error.
func (e *ReachedError) Error() string {
	what := fmt.Sprintf("limit %s of the tenant is reached: %s of %s", e.Limit, e.Used, e.Allowed)
	if e.Ends == 0 {
		return what + ", until a run waits or ends"
	}
	return what + ", until " + time.UnixMilli(e.Ends).UTC().Format(time.RFC3339)
}

// Unwrap returns an error with the code.
func (e *ReachedError) Unwrap() error {
	if e.Limit == SpendADay {
		return errSpent
	}
	return errReached
}
