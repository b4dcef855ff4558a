package account

import (
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
)

// Query is what a report is about.
type Query struct {
	Tenant   string
	OnlyUser bool      // what User used alone
	User     string    // with OnlyUser; empty: threads without an owner
	From, To time.Time // the first and the last day, in UTC
	By       By
}

// maxDays is how many days a report may cover.
const maxDays = 100

// Check returns the error in the days: a query covers at most 100.
func (q Query) Check() error {
	first, last := q.From.UTC().Truncate(24*time.Hour), q.To.UTC().Truncate(24*time.Hour)
	days := int(last.Sub(first)/(24*time.Hour)) + 1
	switch {
	case first.Unix() < 0:
		return core.Errorf(core.CodeInvalid, "from: %s is before 1970", first.Format(time.DateOnly))
	case days < 1:
		return core.Errorf(core.CodeInvalid, "to: %s is before from, %s", last.Format(time.DateOnly), first.Format(time.DateOnly))
	case days > maxDays:
		return core.Errorf(core.CodeInvalid, "from %s to %s are %d days, at most %d are allowed", first.Format(time.DateOnly), last.Format(time.DateOnly), days, maxDays)
	}
	return nil
}

// By selects the columns of a report's rows.
//
// By Root, the usage of a run and that of all runs below it are one row: those that it has started
// by its calls, directly or through others.
type By struct{ Day, User, Agent, Run, Model, Root bool }

// UnmarshalText reads a list such as day,agent. The empty one goes by nothing: one sum for all.
func (b *By) UnmarshalText(list []byte) error {
	var by By
	if len(list) == 0 {
		*b = by
		return nil
	}
	for name := range strings.SplitSeq(string(list), ",") {
		switch name {
		case "day":
			by.Day = true
		case "user":
			by.User = true
		case "agent":
			by.Agent = true
		case "run":
			by.Run = true
		case "model":
			by.Model = true
		case "root":
			by.Root = true
		default:
			return core.Errorf(core.CodeInvalid, "by: %q is unknown, allowed are day, user, agent, run, root and model, separated by commas", core.Excerpt(name))
		}
	}
	*b = by
	return nil
}

// Row is a line of a report: the sum of the records of a day, user, agent, run, root and model. A
// field that the report does not go by is empty, and so are Provider and Model of what has no
// model: runs, tools, the handler and the store.
type Row struct {
	Day      string `json:"day,omitempty"` // YYYY-MM-DD in UTC, of the stretch's first commit
	User     string `json:"user,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Run      string `json:"run,omitempty"`
	Root     string `json:"root,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`

	Runs        int        `json:"runs,omitempty"` // that began: their first stretches
	Stretches   int        `json:"stretches,omitempty"`
	Lost        int        `json:"lost,omitempty"` // stretches whose models and tools are not known
	Tokens      core.Usage `json:"tokens,omitzero"`
	Inferences  int        `json:"inferences,omitempty"`
	ModelMillis int64      `json:"model_ms,omitempty"`
	Tools       int        `json:"tools,omitempty"`
	ToolMillis  int64      `json:"tool_ms,omitempty"`
	Spent       core.Spent `json:"spent,omitzero"`
	// Billed is the handler's time by the memory of its function, in MB and milliseconds.
	Billed int64 `json:"billed_mb_ms,omitempty"`

	// ModelCost is what the tokens cost; nil when one of the models has no price then. Costs
	// are reckoned for each report, and never stored.
	ModelCost *core.USD `json:"-"`
	Unpriced  []string  `json:"-"` // those models
	// CloudCost is what handler, store and queue cost; nil when that is not known.
	CloudCost *core.USD `json:"-"`
}

// Rates are what the cloud asks, in USD per million. The zero value is not known.
type Rates struct {
	WriteUnits, ReadUnits, QueueRequests, GBSeconds float64
}
