package cost

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core/store"
)

// Markdown is the text of infra/cost.md.
func (a Account) Markdown() string {
	var b strings.Builder
	b.WriteString("# Cost of a deployment\n\nThese figures were measured on one machine with stand-ins for AWS, not on AWS. `make cost` measures again and prints the result. `make cost WRITE=1` writes this document from `infra/cost.json`, which it measures, and from `adapters/aws/env/prices/prices.json`. `make test-aws` fails if the units have changed.\n\n")
	a.prices(&b)
	a.measured(&b)
	a.coldReads(&b)
	a.money(&b)
	a.idle(&b)
	a.watching(&b)
	a.further(&b)
	a.alternatives(&b)
	return b.String()
}

func (a Account) prices(b *strings.Builder) {
	p := a.Prices
	fmt.Fprintf(b, "## Prices\n\nThe prices are those of %s on %s, from %s. They are in USD.\n\n| Item | USD |\n|---|---|\n", p.Region, p.AsOf, p.Source)
	for _, row := range []struct {
		what string
		usd  float64
		per  string
	}{
		{"DynamoDB write units", p.Million.WriteUnits, "per million"},
		{"DynamoDB read units", p.Million.ReadUnits, "per million"},
		{"SQS requests", p.Million.QueueRequests, "per million"},
		{"Lambda GB-seconds (arm64)", p.Million.GBSeconds, "per million"},
		{"Lambda requests", p.Million.Invocations, "per million"},
		{"REST API requests", p.Million.RESTRequests, "per million"},
		{"HTTP API requests", p.Million.HTTPRequests, "per million"},
		{"EventBridge Scheduler invocations", p.Million.Schedules, "per million"},
		{"CloudWatch logs", p.GB.Logs, "per GB"},
	} {
		fmt.Fprintf(b, "| %s | %s %s |\n", row.what, number(row.usd), row.per)
	}
}

func (a Account) measured(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Measured\n\nThe figures were measured on %s. The template's functions, with %d MB of memory and built as for Lambda, ran under `scripts/verify/lambdahost`. A fake model provider responded immediately. Each figure is the median of %d runs.\n\n", a.Day, a.MemoryMB, Runs)
	b.WriteString("- **Sizes**: after compression, a message has 500 B and a response has 520 B. The arguments and the result of a tool have 1 KB.\n- **Units** are counted on the wire. They include the records by which threads and runs are listed.\n- **Queue requests** are those of the functions, plus the receive and the delete of each batch by Lambda's event source mapping. A batch has one message here.\n")
	fmt.Fprintf(b, "- **Handler time** was measured with a whole processor and without network latency. On AWS, add the [round trips](../adapters/stores/dynamo/README.md#units-per-operation) of each operation. A function of this size has %s of a processor there.\n\n", number(float64(a.MemoryMB)/1769))
	b.WriteString("| Work | Write units | Read units | Queue requests | Invocations | Handler ms | Processor ms |\n|---|---|---|---|---|---|---|\n")
	for _, row := range []struct{ name, what string }{
		{Submission, "submission to an existing thread"},
		{Calls, "warm step: first step of a run, with two tool calls"},
		{Answer, "warm step: final text of the run"},
		{Chat, "the same run of two steps, streamed"},
		{Sweep, "sweep that finds no work"},
		{Wait, "warm step: first step of a run, with a call that waits for a time"},
		{Early, "wake-up while the call waits"},
		{Wake, "warm step: wake-up of the call, with its result"},
		{Delegate, "warm step: first step of a run, with a delegated call"},
		{Child, "child run of one text, with the notice to its parent"},
		{ChildEnd, "warm step: end of the child run, with the result of the call"},
	} {
		w := a.Work[row.name]
		fmt.Fprintf(b, "| %s | %s | %s | %d | %d | %s | %s |\n", row.what, number(w.Write), number(w.Read), w.Queue, w.Invocations, number(w.Handler), number(w.CPU))
	}
	fmt.Fprintf(b, "\nA new process takes %s ms to start, and Lambda bills this time. Its first step takes %s ms (%s ms of processor time) instead of %s ms. A process that has taken all these steps has used %d MB of memory at most.\n\nWhile a model generates, the process reads %s units a second to see whether a client follows the run from another process. While a client follows, the process also writes %s units a second. The clients that follow a run write one unit for each %s s, however many they are. A stream whose run waits reads %s units a second. A stream that follows a model in another process reads %s more.\n",
		number(a.Cold.Init), number(a.Cold.Handler), number(a.Cold.CPU), number(a.Work[Calls].Handler), a.Cold.MemoryMB, number(a.Mark), number(a.Live), number(MarkSeconds), number(a.Look), number(ChunkReads))
}

func (a Account) coldReads(b *strings.Builder) {
	b.WriteString("\n### Cold reads\n\nA new process reads the conversation as far as the model is shown it. These are the read units of its first step, with two tool calls. A message has about 500 tokens of prose, and the model is shown all of them. Each was measured once.\n\n| Tokens | Messages | Read units | USD for 1,000 |\n|---|---|---|---|\n")
	for _, r := range a.Reads {
		fmt.Fprintf(b, "| %s | %d | %s | %s |\n", count(float64(r.Tokens)), r.Messages, number(r.Units), usd(r.Units*a.Prices.Million.ReadUnits/1e3))
	}
}

func (a Account) money(b *strings.Builder) {
	fmt.Fprintf(b, "\n## USD per 1,000\n\nThe calculation assumes %s s for each model call and %s s for the tools of a step. The function waits during this time, so most of the cost is memory multiplied by time. The price of the model is not included.\n\n| 1,000 times | DynamoDB | SQS | Lambda requests | Lambda duration | API | Sum |\n|---|---|---|---|---|---|---|\n", number(ModelSeconds), number(ToolSeconds))
	rest := a.chat()
	rest.Door = a.Prices.Million.RESTRequests / 1e6
	for _, row := range []struct {
		what string
		bill Bill
	}{
		{"**warm step** (mean of a step with two tool calls and a step with the final text)", a.Step()},
		{"warm step with two tool calls", a.one(Calls, ModelSeconds+ToolSeconds)},
		{"the same step in a new process", a.cold()},
		{"warm step with the final text", a.one(Answer, ModelSeconds)},
		{"submission through the HTTP API", a.submission()},
		{"chat of two steps, streamed by the function URL", a.chat()},
		{"the same chat through the REST API", rest},
		{"the chat at the function URL while another client follows it (without the follower's stream)", a.heard()},
		{"second hint of a run in the background, which finds nothing to do", a.second()},
		{"warm step of a long run: its part of the second hints", a.secondOfStep()},
		{"warm step that ends with a call that waits for a time", a.one(Wait, ModelSeconds)},
		{"wake-up while the call waits", a.one(Early, 0)},
		{"warm step with the wake-up of the call", a.one(Wake, 0)},
		{"warm step that ends with a delegated call", a.one(Delegate, ModelSeconds)},
		{"child run of one text, with the notice to its parent", a.one(Child, ModelSeconds)},
		{"warm step with the end of the child run", a.one(ChildEnd, 0)},
		{"end of a run with an open child: what it adds to the end of a run without one", a.openChild()},
		{"message to another thread, without the run that reads it", a.message()},
		{"minute of a stream that only waits, at the function URL", a.follower()},
		{"minute of a stream that follows a model in another process", a.hearing()},
	} {
		c := row.bill.times(1000)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", row.what, usd(c.Table), usd(c.Queue), usd(c.Requests), usd(c.Duration), usd(c.Door), usd(c.Sum()))
	}
	fmt.Fprintf(b, "\nA run in the background is sent a second hint at its start, and another one while it works, %s to %s s after the one before. The rows of steps, child runs and chats do not include them. A chat that is over within %s s has none: with one, 1,000 chats would cost %s USD more.\n", number(SecondSeconds), number(2*SecondSeconds), number(SecondSeconds), usd(a.watched().Sum()*1000))
	b.WriteString("\n| Function memory | USD per 1,000 warm steps |\n|---|---|\n")
	for _, mb := range []int{128, 256, 512, 1024} {
		other := a
		other.MemoryMB = mb
		fmt.Fprintf(b, "| %d MB | %s |\n", mb, usd(other.Step().Sum()*1000))
	}
	b.WriteString("\nA run that waits for an approval costs nothing until then, unless a client keeps a stream open. A decision with edited arguments stores them twice, with the decision and with the result, and reads the record of the run once more.\n")
	fmt.Fprintf(b, "\nA call that waits for a time costs nothing between its wake-ups, however long it waits. The one at its time costs %s USD for 1,000 calls. Before that, a call that waits for longer than 15 minutes has two wake-ups of the sweep, which cost %s USD for 1,000 calls. A shorter wait has one at most.\n", usd(a.one(Wake, 0).Sum()*1000), usd(a.sweptTwice().Sum()*1000))
	fmt.Fprintf(b, "\nA delegated call adds three pieces of work to its run: the step that starts the child run, that run, and the step with its end. For a child of one text, they cost %s USD for 1,000 calls. While the run waits for the child, it costs nothing, however long it waits. A hint that comes before the child's end finds nothing to do, and costs %s USD for 1,000.\n", usd(a.delegated().Sum()*1000), usd(a.one(Early, 0).Sum()*1000))
	fmt.Fprintf(b, "\nThe end of a run cancels its open children. For that, it stores an entry with its head and a record that lists them, and writes to the thread of each child. The close of a child is a step without a model call. With one child that waits for a person, this adds %s write units to the end of a run, and %s USD to 1,000 ends.\n", number(OpenChildWrites), usd(a.openChild().Sum()*1000))
	b.WriteString("\nThree kinds of data are there for people only:\n\n- **Requests as sent.** Each turn has 44 bytes more. The first turn of a thread stores one record more, with tools and system prompt. So does each turn after they have changed. A plugin that changes messages can add another one.\n- **Times of steps.** Each turn has 25 to 40 bytes more. Each failed call of its model adds about 100.\n- **Lists.** A list of runs reads head and title of each thread, and the record of each run. A list of threads reads head, title and one listing of each thread. A list of approvals reads the head, the run and its calls, and for names two or three records more. Most records are one read unit each.\n")
}

func (a Account) idle(b *strings.Builder) {
	lines := a.Idle()
	sum, beyond := total(lines)
	b.WriteString("\n## The idle stack\n\nA stack without any use has these costs in a month of 730 hours. AWS gives every account a permanent free tier. The last column applies to an account that uses nothing else.\n\n| Item | Per month | USD | Free | USD beyond the free tier |\n|---|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", l.What, count(l.Count), usd(l.USD), count(l.Free), usd(l.Beyond()))
	}
	fmt.Fprintf(b, "| **sum** | | **%s** | | **%s** |\n", usd(sum), usd(beyond))
	fmt.Fprintf(b, "\nUnits, requests and times of the sweeps are measured. Two figures are assumptions: a sweep logs %s bytes, and Lambda polls an empty queue with five pollers that wait 20 s each. AWS does not publish the number of polls.\n\nThe polls alone cost %s USD. They cannot be reduced: a queue without a poller would not start a step.\n\nWhile any thread is due or waits for a time, each sweep also reads %d shards at half a read unit each. If that is always so, it costs %s USD a month.\n", count(logBytes), usd(lines[0].USD), store.Shards, usd(Month*store.Shards/2*a.Prices.Million.ReadUnits/1e6))
}

// further lists what the calculations omit. The price table has some of the prices.
func (a Account) further(b *strings.Builder) {
	p := a.Prices
	b.WriteString("\n## Further costs\n\nThe figures above omit these items. Prices of AWS that the calculations do not use are not repeated here.\n\n| Item | Cause | USD |\n|---|---|---|\n")
	for _, row := range []struct{ what, cause, usd string }{
		{"DynamoDB storage", "threads, runs and usage, until you delete them or they expire", number(p.GBMonth.Table) + " per GB and month"},
		{"DynamoDB point-in-time recovery", "always on, for both tables", ""},
		{"DynamoDB restore", "`make restore`, for each GB of both tables", ""},
		{"S3 storage", "payloads over 32 KB", number(p.GBMonth.Objects) + " per GB and month"},
		{"S3 versions", "payloads that were deleted in the last 35 days", number(p.GBMonth.Objects) + " per GB and month"},
		{"S3 writes", "one for each such payload", number(p.Million.ObjectPuts) + " per million"},
		{"S3 reads", "one for each such payload that a cold process reads", number(p.Million.ObjectGets) + " per million"},
		{"Lambda response streaming", "the part of a streamed response beyond 6 MB", number(p.GB.Streamed) + " per GB"},
		{"Data transfer", "responses and model calls that leave AWS", ""},
		{"CloudWatch logs of runs and functions", "`LogLevel`, `LogFormat`; their storage for `LogRetentionDays`", number(p.GB.Logs) + " per GB received"},
		{"Invocations of `Trigger`", "each event", "as in the tables above"},
		{"Polls of your queue", "`TriggerQueue`, also while the queue is empty", "about as for the Step function"},
		{"Secrets Manager secrets and their reads", "`ModelKeySecret`, `WebhookSecret`, `TriggerWebhookSecret`", ""},
		{"Your own resources", "`infra/own.yaml`, which has none at first", ""},
		{"KMS key and its requests", "`KeyArn`", ""},
		{"EventBridge events", "`EventBus`, and the events of your sources", ""},
		{"CloudWatch dashboards beyond three", "`Dashboard`", number(p.Month.Dashboard) + " each a month"},
		{"Log lines that the board and saved queries read", "each time that you open or run them", number(p.GB.Queried) + " per GB"},
		{"NAT gateways and endpoints of a VPC", "`VpcSubnets`, if the subnets have none yet", ""},
		{"X-Ray traces", "`Tracing`", ""},
		{"Lines of requests", "`LogLevel` `info` or `debug`: " + count(requestBytes) + " bytes for each request", usd(requestBytes*p.GB.Logs/1e3) + " per million"},
		{"Logs of requests in both APIs", "`AccessLogs`", number(p.GB.Logs) + " per GB received"},
		{"Route 53 hosted zone", "`HostedZoneId`", ""},
		{"Deployment packages", "`make deploy` stores them in a bucket of the SAM CLI", number(p.GBMonth.Objects) + " per GB and month"},
		{"Model provider", "each inference", "see [models](../functions/guides/models.md)"},
	} {
		fmt.Fprintf(b, "| %s | %s | %s |\n", row.what, row.cause, cmp.Or(row.usd, "price page of AWS"))
	}
}

func (a Account) alternatives(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Compared with other services\n\nThese figures are calculated, not measured, at the public prices of %s. 1,000 steps of Reveille cost %s USD.\n\n| Service | USD | Calculation |\n|---|---|---|\n", AlternativesDay, usd(a.Step().Sum()*1000))
	for _, o := range a.Alternatives() {
		per := "per 1,000 steps"
		if o.Monthly {
			per = "a month, used or unused"
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
