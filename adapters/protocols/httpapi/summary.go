package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

// runSummary is the usage of runs by hours.
type runSummary struct {
	From   int64         `json:"from"`  // start of the first hour, in Unix milliseconds
	To     int64         `json:"to"`    // end of the last hour, in Unix milliseconds
	Hours  []summaryHour `json:"hours"` // every hour, also those without usage, oldest first
	Totals summaryTotals `json:"totals"`
}

// summaryHour is the usage of one hour.
type summaryHour struct {
	At     int64     `json:"at"`   // start of the hour, in Unix milliseconds
	Runs   int       `json:"runs"` // runs that started
	Input  int       `json:"input"`
	Output int       `json:"output"`
	Cost   core.Cost `json:"cost_usd"` // null: the price of a model is unknown
}

// summaryTotals are the sums of all hours.
type summaryTotals struct {
	Runs      int       `json:"runs"`
	Input     int       `json:"input"`
	Output    int       `json:"output"`
	CacheRead int       `json:"cache_read"`
	Cost      core.Cost `json:"cost_usd"` // null: the price of a model is unknown
}

const (
	hourMillis   = 3_600_000
	summaryHours = 24 // without a since
)

// getRunSummary sums the caller's usage by hours. Callers see what getUsage shows them.
func (a *api) getRunSummary(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	q, err := summaryQuery(r, a.Env.Millis())
	if err != nil {
		return err
	}
	q.Tenant, q.OnlyUser, q.User = id.Tenant, !a.readsUsage(id), id.User
	hours, err := a.Host.ReportHours(r.Context(), q)
	if err != nil {
		return err
	}
	summary, totals := runSummary{Hours: make([]summaryHour, 0, len(hours))}, account.Hour{Cost: core.Cost{Known: true}}
	for _, h := range hours {
		summary.Hours = append(summary.Hours, summaryHour{At: h.At, Runs: h.Runs, Input: h.Tokens.Input, Output: h.Tokens.Output, Cost: h.Cost})
		totals.Add(h)
	}
	summary.From, summary.To = q.From/hourMillis*hourMillis, ((q.To-1)/hourMillis+1)*hourMillis
	summary.Totals = summaryTotals{Runs: totals.Runs, Input: totals.Tokens.Input, Output: totals.Tokens.Output, CacheRead: totals.Tokens.CacheRead, Cost: totals.Cost}
	protocol.JSON(w, http.StatusOK, summary)
	return nil
}

// summaryQuery reads the bounds of a summary. Without until it ends now, and without since
// it has 24 hours, the last one included.
func summaryQuery(r *http.Request, now int64) (q account.HourQuery, err error) {
	values, err := query(r.URL.RawQuery, "since", "until", "agent")
	if err != nil {
		return q, err
	}
	q.Agent = values.Get("agent")
	if q.To, err = millis(values, "until"); err != nil {
		return q, err
	}
	if !values.Has("until") {
		q.To = now + 1
	}
	if q.From, err = millis(values, "since"); err != nil {
		return q, err
	}
	if !values.Has("since") {
		q.From = max((q.To-1)/hourMillis-summaryHours+1, 0) * hourMillis
	}
	_, _, err = q.Hours()
	return q, err
}
