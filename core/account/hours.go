package account

import "github.com/reveille-run/reveille/core"

// HourQuery selects the usage of a tenant by hours.
type HourQuery struct {
	Tenant   string
	OnlyUser bool   // what User used alone
	User     string // with OnlyUser; empty: threads without an owner
	Agent    string // what the runs of this agent used alone; empty: all agents
	// From and To are times in unix milliseconds. The first hour is the one that has From,
	// and the last one begins before To.
	From, To int64
}

// hourMillis is an hour in milliseconds.
const hourMillis = 3_600_000

// maxHours is how many hours a query may cover: those of maxDays.
const maxHours = maxDays * 24

// Hours returns the first and the last hour of the query, in hours since 1970, or
// core.CodeInvalid: a query covers at most 2,400 hours.
func (q HourQuery) Hours() (first, last int64, err error) {
	first, last = q.From/hourMillis, (q.To-1)/hourMillis
	switch {
	case q.From < 0:
		return 0, 0, core.Errorf(core.CodeInvalid, "since %d is before 1970", q.From)
	case q.To <= q.From:
		return 0, 0, core.Errorf(core.CodeInvalid, "until %d is not after since, %d", q.To, q.From)
	case last-first >= maxHours:
		return 0, 0, core.Errorf(core.CodeInvalid, "since %d until %d are %d hours, at most %d are allowed", q.From, q.To, last-first+1, maxHours)
	}
	return first, last, nil
}

// Hour is what the runs that began in an hour, or continued in it after a wait, have used.
type Hour struct {
	At     int64 // its start, unix milliseconds
	Runs   int   // that began
	Tokens core.Usage
	// Cost is what the tokens cost. It is not known if the price of a model is not.
	Cost core.Cost
}

// Add adds what another hour has used.
func (h *Hour) Add(o Hour) {
	h.Runs, h.Tokens = h.Runs+o.Runs, h.Tokens.Add(o.Tokens)
	if h.Cost.Known = h.Cost.Known && o.Cost.Known; h.Cost.Known {
		h.Cost.USD += o.Cost.USD
	} else {
		h.Cost.USD = 0
	}
}
