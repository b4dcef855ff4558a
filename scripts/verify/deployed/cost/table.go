package cost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core/store"
)

// Markdown is the text of infra/cost.md.
func (a Account) Markdown() string {
	var b strings.Builder
	b.WriteString("# What a deployment costs\n\nWritten by `make cost WRITE=1` from `infra/cost.json`, which it measures, and from `adapters/aws/env/prices/prices.json`. `make cost` measures again and prints; `make test-aws` fails when the units are no longer these.\n\n")
	a.prices(&b)
	a.measured(&b)
	a.money(&b)
	a.idle(&b)
	a.alternatives(&b)
	return b.String()
}

func (a Account) prices(b *strings.Builder) {
	p := a.Prices
	fmt.Fprintf(b, "## Prices\n\n%s, %s, from %s. USD:\n\n| | |\n|---|---|\n", p.Region, p.AsOf, p.Source)
	for _, row := range []struct {
		what string
		usd  float64
		per  string
	}{
		{"DynamoDB, write units", p.Million.WriteUnits, "a million"},
		{"DynamoDB, read units", p.Million.ReadUnits, "a million"},
		{"SQS, requests", p.Million.QueueRequests, "a million"},
		{"Lambda, GB-seconds (arm64)", p.Million.GBSeconds, "a million"},
		{"Lambda, requests", p.Million.Invocations, "a million"},
		{"REST API, requests", p.Million.RESTRequests, "a million"},
		{"HTTP API, requests", p.Million.HTTPRequests, "a million"},
		{"EventBridge Scheduler, invocations", p.Million.Schedules, "a million"},
		{"CloudWatch, log", p.GB.Logs, "a GB"},
	} {
		fmt.Fprintf(b, "| %s | %s %s |\n", row.what, number(row.usd), row.per)
	}
}

func (a Account) measured(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Measured\n\n%s, the template's functions of %d MB as they are built for Lambda, under `scripts/verify/lambdahost`, with a provider that answers at once. Texts have 500 B and arguments and results of tools 1 KB after compression. Medians of %d. Units are counted from what is on the wire, with what lists threads and runs; queue requests are what the functions send, and the mapping's receive and delete of each batch, here of one message. Handler time is that of this machine against stand-ins of AWS on it, with a whole processor: on AWS it is the round trips that README's table counts, and processor time at %s of a processor.\n\n",
		a.Day, a.MemoryMB, Runs, number(float64(a.MemoryMB)/1769))
	b.WriteString("| | write units | read units | queue requests | invocations | handler ms | processor ms |\n|---|---|---|---|---|---|---|\n")
	for _, row := range []struct{ name, what string }{
		{Submission, "submission to a thread that is there"},
		{Calls, "warm step: a run's first, with two tool calls"},
		{Answer, "warm step: the text that ends it"},
		{Chat, "the same run of two steps, streamed"},
		{Sweep, "sweep with nothing to do"},
	} {
		w := a.Work[row.name]
		fmt.Fprintf(b, "| %s | %s | %s | %d | %d | %s | %s |\n", row.what, number(w.Write), number(w.Read), w.Queue, w.Invocations, number(w.Handler), number(w.CPU))
	}
	fmt.Fprintf(b, "\nA cold step's process takes %s ms to start, which is billed, and %s ms (%s of processor) for the step in place of %s; a process that has taken all these steps has had %d MB of memory at most. A process in which a model speaks reads %s units a second besides, to see whether a client follows the run from another process, and while one does it writes %s units a second. The clients that follow write one unit for each %s s together. A stream whose run waits reads %s units a second, and one that follows while a model speaks %s more.\n",
		number(a.Cold.Init), number(a.Cold.Handler), number(a.Cold.CPU), number(a.Work[Calls].Handler), a.Cold.MemoryMB, number(a.Mark), number(a.Live), number(MarkSeconds), number(a.Look), number(ChunkReads))
}

func (a Account) money(b *strings.Builder) {
	fmt.Fprintf(b, "\n## USD per 1,000\n\nA model is taken to need %s s and a step's tools %s s: that they are waited for is what costs most, so memory and time decide. What the model itself costs is not in it.\n\n| 1,000 times | DynamoDB | SQS | Lambda, requests | Lambda, duration | API | sum |\n|---|---|---|---|---|---|---|\n", number(ModelSeconds), number(ToolSeconds))
	rest := a.chat()
	rest.Door = a.Prices.Million.RESTRequests / 1e6
	for _, row := range []struct {
		what string
		bill Bill
	}{
		{"**step, warm** (mean of one with two tool calls and one that answers)", a.Step()},
		{"warm step with two tool calls", a.one(Calls, ModelSeconds+ToolSeconds)},
		{"the same in a process that has just started", a.cold()},
		{"warm step that answers", a.one(Answer, ModelSeconds)},
		{"submission at the HTTP API", a.submission()},
		{"chat of two steps, streamed at the function URL", a.chat()},
		{"the same at the REST API", rest},
		{"the chat at the function URL while another client follows it, whose stream is apart", a.heard()},
		{"minute of a stream that only waits, at the function URL", a.follower()},
		{"minute of one that follows while a model speaks in another process", a.hearing()},
	} {
		c := row.bill.times(1000)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", row.what, usd(c.Table), usd(c.Queue), usd(c.Requests), usd(c.Duration), usd(c.Door), usd(c.Sum()))
	}
	b.WriteString("\n| 1,000 warm steps with functions of | USD |\n|---|---|\n")
	for _, mb := range []int{128, 256, 512, 1024} {
		other := a
		other.MemoryMB = mb
		fmt.Fprintf(b, "| %d MB | %s |\n", mb, usd(other.Step().Sum()*1000))
	}
	b.WriteString("\nA run that waits for a person costs nothing while it waits, unless somebody's stream does.\n")
}

func (a Account) idle(b *strings.Builder) {
	lines := a.Idle()
	sum, beyond := total(lines)
	b.WriteString("\n## The idle stack\n\nWhat a stack costs a month of 730 hours that nobody uses. Every account has some of it free, without end; the last column is for one that uses nothing else.\n\n| | a month | USD | free | USD beyond it |\n|---|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", l.What, count(l.Count), usd(l.USD), count(l.Free), usd(l.Beyond()))
	}
	fmt.Fprintf(b, "| **sum** | | **%s** | | **%s** |\n", usd(sum), usd(beyond))
	fmt.Fprintf(b, "\nOf this the sweeps' units, requests and times are measured. It is taken that a mapping asks an empty queue with five pollers whose receives wait 20 s, which AWS does not publish, and that a sweep logs %s bytes. The polls alone are %s USD: nothing of ours can make them fewer, since a queue without a poller would wake no step. While any thread is due or waits for a time, a sweep goes through %d shards, half a read unit each: %s USD a month if one always does. Storage, alarms (beyond ten), a dashboard (beyond three) and point-in-time recovery of what is stored come on top.\n", count(logBytes), usd(lines[0].USD), store.Shards, usd(Month*store.Shards/2*a.Prices.Million.ReadUnits/1e6))
}

func (a Account) alternatives(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Beside others\n\nComputed, not measured, at the prices of %s: what a step would need of each. Reveille's step is %s USD per 1,000.\n\n| | USD | how |\n|---|---|---|\n", AlternativesDay, usd(a.Step().Sum()*1000))
	for _, o := range a.Alternatives() {
		per := "per 1,000 steps"
		if o.Monthly {
			per = "a month, used or not"
		}
		fmt.Fprintf(b, "| %s | %s %s | %s |\n", o.Name, usd(o.USD), per, o.How)
	}
}

// usd has four places after the point, or two from 1 on.
func usd(x float64) string {
	if x >= 1 {
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 4, 64)
}

// number has at most two places after the point where there are any, four below 1.
func number(x float64) string {
	places := 2
	if x < 1 {
		places = 4
	}
	text := strconv.FormatFloat(x, 'f', places, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// count groups the digits of a number of things.
func count(x float64) string {
	if x < 1 {
		return number(x)
	}
	digits := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
