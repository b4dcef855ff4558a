package account

import (
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
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

// ErrReached is what a [ReachedError] of each limit but that of money wraps, and errSpent
// what one of that limit wraps: they have the codes core.CodeTenantLimit and core.CodeTenantSpend.
var (
	ErrReached = core.Errorf(core.CodeTenantLimit, "the tenant has reached a limit")
	errSpent   = core.Errorf(core.CodeTenantSpend, "the tenant has spent what it may spend in a day")
)

// ReachedError is a limit that a tenant has reached.
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

// Unwrap returns what the error is an error of.
func (e *ReachedError) Unwrap() error {
	if e.Limit == SpendADay {
		return errSpent
	}
	return ErrReached
}

// reached returns the first limit of the day that the counters have reached, or, where
// slots are given, that of active runs; nil: none. Money comes first,
// since it ends no sooner than the others and asks for something else.
func (l Limits) reached(a store.Admission, runs bool, slots int) *ReachedError {
	ends := store.DayEnds(a.Day)
	switch {
	case l.SpendADay > 0 && a.Spend >= l.SpendADay:
		return &ReachedError{SpendADay, l.SpendADay.String(), a.Spend.String(), ends}
	case l.TokensADay > 0 && a.Tokens >= l.TokensADay:
		return &ReachedError{TokensADay, fmt.Sprint(l.TokensADay), fmt.Sprint(a.Tokens), ends}
	case runs && l.RunsADay > 0 && a.Runs >= l.RunsADay:
		return &ReachedError{RunsADay, fmt.Sprint(l.RunsADay), fmt.Sprint(a.Runs), ends}
	case slots > 0 && len(a.Slots) >= slots:
		return &ReachedError{ConcurrentRuns, fmt.Sprint(l.ConcurrentRuns), fmt.Sprint(len(a.Slots)), 0}
	}
	return nil
}

// Reached returns the limit that err is about, if it is about one.
func Reached(err error) (*ReachedError, bool) { return errors.AsType[*ReachedError](err) }
