package cost

import (
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/adapters/outbound/emf"
)

// Figures of what operators watch. Tests count them: the metrics of the alarms in the
// transformed template, and those that the lines of ten agents become.
const (
	// AlarmMetrics are the metrics that the alarms of a stack watch.
	AlarmMetrics = 27
	// AgentMetrics are the different metrics of a stack with ten agents, all of whose runs
	// together have, within each hour of the month, each of these: five outcomes, three codes
	// of errors in two functions, an expired decision, a run that was given up, two kinds of
	// failed calls of models, and a late step.
	AgentMetrics = 20
	// RunBytes is the size of the lines of a run that waits once: two of metrics, two of usage.
	RunBytes = 1700.0
)

// The assumed use of a stack with ten agents in a month.
const (
	watchedRuns = 30_000.0 // 100 a day of each agent
	queryGB     = 1.0      // that queries read: about 20 times all lines of the month
)

// Watching is the monthly cost of metrics and alarms of a stack with ten agents.
func (a Account) Watching() []Line {
	line := func(what string, count, usd, free float64) Line { return Line{what, count, count * usd, free} }
	return []Line{
		line("CloudWatch: metrics of the functions, of ten agents", AgentMetrics, a.Prices.Month.Metric, 10),
		line("CloudWatch: metrics that alarms watch", AlarmMetrics, a.Prices.Month.AlarmMetric, 10),
		line("CloudWatch: GB of lines of metrics and usage", watchedRuns*RunBytes/1e9, a.Prices.GB.Logs, 5),
		line("CloudWatch: GB that saved queries read", queryGB, a.Prices.GB.Queried, 0),
	}
}

// watching is the section about it.
func (a Account) watching(b *strings.Builder) {
	lines := a.Watching()
	sum, beyond := total(lines)
	fmt.Fprintf(b, "\n## Metrics and alarms\n\nA stack with ten agents and %s runs a month has these costs. The runs have five outcomes, three codes of errors and two kinds of failed model calls in every hour, so that each metric is billed for the whole month. With fewer, it costs less: AWS bills a metric for the hours in which it has values.\n\n| Item | Per month | USD | Free | USD beyond the free tier |\n|---|---|---|---|---|\n", count(watchedRuns))
	for _, l := range lines {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", l.What, count(l.Count), usd(l.USD), count(l.Free), usd(l.Beyond()))
	}
	fmt.Fprintf(b, "| **metrics and alarms** | | **%s** | | **%s** |\n", usd(sum), usd(beyond))
	idle, idleBeyond := total(a.Idle())
	alarms := lines[1]
	most := 0
	for _, m := range emf.Metrics() {
		most += m.Count()
	}
	fmt.Fprintf(b, "\nThe number of metrics does not grow with agents, models, tenants or users. Every possible metric in every hour is %d metrics, and %s USD beyond the free ten.\n\nAn idle stack writes no metric. With its alarms it costs %s USD at list prices, and %s USD beyond the free tier. Without them (`Alarms=false`) it costs %s USD and %s USD.\n",
		most, usd(float64(most-10)*a.Prices.Month.Metric), usd(idle+alarms.USD), usd(idleBeyond+alarms.Beyond()), usd(idle), usd(idleBeyond))
}
