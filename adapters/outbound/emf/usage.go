package emf

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

// noModel is the model of a stretch that called none.
const noModel = "none"

// used is a line about what a stretch of a run has used of one model. It has no metrics.
// The figures of the stretch itself are in its first line, so that sums are right.
type used struct {
	Text     string    `json:"msg"` // "usage"
	Stack    string    `json:"Stack"`
	Tenant   string    `json:"tenant"`
	Agent    string    `json:"agent,omitempty"`
	Run      string    `json:"run"`
	Outcome  string    `json:"outcome"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model"`
	Calls    int       `json:"calls"`
	Input    int       `json:"tokens_in"`
	Output   int       `json:"tokens_out"`
	Cached   int       `json:"tokens_cached"` // input tokens that were read from the provider's cache
	USD      core.Cost `json:"usd"`           // null: the price of the model is unknown
	Runs     int       `json:"runs"`          // 1 if the run is over, in the first line of the stretch
	Failed   int       `json:"failed"`        // 1 if it ended with an error
	Tools    int       `json:"tools"`
	Millis   int64     `json:"ms"` // of the stretch
}

// Used writes what a stretch of a run has used: a line for each model, or one line without a
// model. It is a value of host.Metering.Ended.
func (w *Writer) Used(tenant string, r account.Record) {
	models := r.Models
	if len(models) == 0 {
		models = []core.ModelUse{{Model: noModel}}
	}
	for i, m := range models {
		l := used{
			Text: "usage", Stack: w.o.Stack, Tenant: tenant, Agent: r.Agent, Run: r.Run.String(), Outcome: r.End,
			Provider: m.Provider, Model: m.Model, Calls: m.Inferences, Input: m.Usage.Input, Output: m.Usage.Output, Cached: m.Usage.CacheRead,
			USD: w.cost(m, r.Since),
		}
		if i == 0 {
			l.Tools, l.Millis = r.Tools, max(r.Until-r.Since, 0)
			if !r.Waits() {
				l.Runs = 1
			}
			if r.End == string(core.TerminationError) {
				l.Failed = 1
			}
		}
		w.write(&l)
	}
}

// cost is what a model's calls have cost, by the prices of the day on which the stretch began.
func (w *Writer) cost(m core.ModelUse, since int64) core.Cost {
	if m.Inferences == 0 && m.Usage == (core.Usage{}) {
		return core.Cost{Known: true}
	}
	if w.o.Price == nil {
		return core.Cost{}
	}
	usd, known := w.o.Price(m.Provider, m.Model, m.Usage, time.UnixMilli(since))
	return core.Cost{USD: usd, Known: known}
}
