package accounting

import (
	"fmt"

	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/store"
)

// reached returns the first limit of the day that the counters have reached, or, where
// slots are given, that of active runs; nil: none. Money comes first,
// since it ends no sooner than the others and asks for something else.
func reached(l account.Limits, a store.Admission, runs bool, slots int) *account.ReachedError {
	ends := calendar.DayEnds(a.Day)
	switch {
	case l.SpendADay > 0 && a.Spend >= l.SpendADay:
		return &account.ReachedError{Limit: account.SpendADay, Allowed: l.SpendADay.String(), Used: a.Spend.String(), Ends: ends}
	case l.TokensADay > 0 && a.Tokens >= l.TokensADay:
		return &account.ReachedError{Limit: account.TokensADay, Allowed: fmt.Sprint(l.TokensADay), Used: fmt.Sprint(a.Tokens), Ends: ends}
	case runs && l.RunsADay > 0 && a.Runs >= l.RunsADay:
		return &account.ReachedError{Limit: account.RunsADay, Allowed: fmt.Sprint(l.RunsADay), Used: fmt.Sprint(a.Runs), Ends: ends}
	case slots > 0 && len(a.Slots) >= slots:
		return &account.ReachedError{Limit: account.ConcurrentRuns, Allowed: fmt.Sprint(l.ConcurrentRuns), Used: fmt.Sprint(len(a.Slots))}
	}
	return nil
}
