package cost

import (
	"math"

	"github.com/reveille-run/reveille/adapters/aws/env/prices"
)

// Assumed waits: the time that a model call and the tools of a step take.
const (
	ModelSeconds = 6.0
	ToolSeconds  = 1.0
)

// MarkSeconds is how long the mark of following clients holds. Each renewal costs one
// write unit.
const MarkSeconds = 45.0

// ChunkReads are the read units a second that a client needs to follow a model that
// generates, in addition to those for the head: half a unit each half second.
const ChunkReads = 1.0

// Month is one of 730 hours, in minutes.
const Month = 730 * 60.0

// Polls are the requests of an event source mapping to an empty queue in a minute: five
// pollers, each with receives that wait 20 s. Bills of accounts show this number; AWS does
// not publish it.
const Polls = 5 * 3.0

// Bill is a cost in USD, by service.
type Bill struct{ Table, Queue, Requests, Duration, Door float64 }

// Sum is the total of the bill.
func (b Bill) Sum() float64 { return b.Table + b.Queue + b.Requests + b.Duration + b.Door }

func (b Bill) plus(o Bill) Bill {
	return Bill{b.Table + o.Table, b.Queue + o.Queue, b.Requests + o.Requests, b.Duration + o.Duration, b.Door + o.Door}
}

func (b Bill) times(n float64) Bill {
	return Bill{b.Table * n, b.Queue * n, b.Requests * n, b.Duration * n, b.Door * n}
}

// Account prices figures.
type Account struct {
	Figures
	Prices prices.Table
}

// seconds is the cost of a function that is busy for s seconds.
func (a Account) seconds(s float64) float64 {
	return s * float64(a.MemoryMB) / 1024 * a.Prices.Million.GBSeconds / 1e6
}

// inferences is the number of model calls in each piece of work; during each the process
// looks for the mark of a follower.
var inferences = map[string]float64{Calls: 1, Answer: 1, Chat: 2, Wait: 1, Delegate: 1, Child: 1}

// one is the cost of a piece of work whose handler waits for this many seconds in addition
// to its own time.
func (a Account) one(name string, waits float64) Bill {
	w, p := a.Work[name], a.Prices.Million
	return Bill{
		Table:    (w.Write*p.WriteUnits + (w.Read+a.Mark*ModelSeconds*inferences[name])*p.ReadUnits) / 1e6,
		Queue:    float64(w.Queue) * p.QueueRequests / 1e6,
		Requests: float64(w.Invocations) * p.Invocations / 1e6,
		Duration: a.seconds(w.Handler/1000 + waits),
	}
}

// Step is the cost of a step: the mean of a step with two tool calls and of a step with the
// final text, both in warm processes.
func (a Account) Step() Bill {
	return a.one(Calls, ModelSeconds+ToolSeconds).plus(a.one(Answer, ModelSeconds)).times(0.5)
}

// cold is the first step of a run in a new process, whose start is billed.
func (a Account) cold() Bill {
	b := a.one(Calls, ModelSeconds+ToolSeconds)
	b.Duration = a.seconds((a.Cold.Init+a.Cold.Handler)/1000 + ModelSeconds + ToolSeconds)
	return b
}

// submission is a request to the HTTP API that does not wait for its run.
func (a Account) submission() Bill {
	b := a.one(Submission, 0)
	b.Door = a.Prices.Million.HTTPRequests / 1e6
	return b
}

// chat is a run of two steps, streamed by the function URL, which is free.
func (a Account) chat() Bill {
	return a.one(Chat, 2*ModelSeconds+ToolSeconds)
}

// heard is the chat while another client follows it from its start. The follower's own
// stream is not included.
func (a Account) heard() Bill {
	b := a.chat()
	marks := math.Ceil((2*ModelSeconds + ToolSeconds) / MarkSeconds)
	b.Table += (a.Live*2*ModelSeconds + marks) * a.Prices.Million.WriteUnits / 1e6
	return b
}

// hearing is a minute of a stream that follows a model in another process.
func (a Account) hearing() Bill {
	b := a.follower()
	b.Table += (ChunkReads*60*a.Prices.Million.ReadUnits + 60/MarkSeconds*a.Prices.Million.WriteUnits) / 1e6
	return b
}

// Second hints: the time in which a run in the background is sent one, and the read units of
// one that finds nothing to do, which looks at the head.
const (
	SecondSeconds = 20.0
	SecondReads   = 1.0
)

// second is the cost of a second hint that finds nothing to do. It is sent together with another
// hint, and received and deleted alone. The look takes as long as a sweep that finds no work.
func (a Account) second() Bill {
	p := a.Prices.Million
	return Bill{
		Table: SecondReads * p.ReadUnits / 1e6, Queue: 2 * p.QueueRequests / 1e6, Requests: p.Invocations / 1e6,
		Duration: a.seconds(a.Work[Sweep].Handler / 1000),
	}
}

// secondOfStep is the part of a step in the cost of the second hints of a long run, whose steps
// take a model call and half of the tools' time each.
func (a Account) secondOfStep() Bill {
	return a.second().times(1 / math.Ceil(SecondSeconds/(ModelSeconds+ToolSeconds/2)))
}

// watched is what a chat would cost more if its stream had a second hint from its start: it
// would be sent alone.
func (a Account) watched() Bill {
	b := a.second()
	b.Queue += a.Prices.Million.QueueRequests / 1e6
	return b
}

// MoveWrites are the write units of a wake-up of the sweep while a call waits for a time: the head,
// and its place in the index.
const MoveWrites = 3.0

// sweptTwice is the cost of the two wake-ups of the sweep while a call waits for longer than 15
// minutes. The sweep sends both, and the second one sends the wake-up of the call.
func (a Account) sweptTwice() Bill {
	p := a.Prices.Million
	b := a.one(Early, 0)
	b.Table += MoveWrites * p.WriteUnits / 1e6
	b.Queue += p.QueueRequests / 1e6
	b = b.times(2)
	b.Queue += p.QueueRequests / 1e6
	return b
}

// The units of a message to a thread without an open run, beyond those of the step that sends it:
// see TestMessageBudget of adapters/stores/dynamo. Two of the write units list the run.
const (
	MessageWrites = 9.0
	MessageReads  = 8.0
)

// message is the cost of a message until it is the input of a run, with the hint of that run.
func (a Account) message() Bill {
	p := a.Prices.Million
	return Bill{Table: (MessageWrites*p.WriteUnits + MessageReads*p.ReadUnits) / 1e6, Queue: p.QueueRequests / 1e6}
}

// delegated is the cost of a call that another agent does with one text: of the step that starts
// the child run, of that run, and of the step that continues with its end.
func (a Account) delegated() Bill {
	return a.one(Delegate, ModelSeconds).plus(a.one(Child, ModelSeconds)).plus(a.one(ChildEnd, 0))
}

// The units of the end of a run with an open child that waits for a person, beyond those of the
// end of a run without one: see TestChildEndBudget of adapters/stores/dynamo. The run has 5 of the
// write units, and the child's close 9. 3 of these move the child's thread in lists.
const (
	OpenChildWrites = 14.0
	OpenChildReads  = 13.0
)

// openChild is what the end of a run costs more if it has an open child. The child's thread is
// sent a hint. The step that closes it takes as long as one that continues with a child's end.
func (a Account) openChild() Bill {
	p := a.Prices.Million
	return Bill{
		Table: (OpenChildWrites*p.WriteUnits + OpenChildReads*p.ReadUnits) / 1e6, Queue: 3 * p.QueueRequests / 1e6, Requests: p.Invocations / 1e6,
		Duration: a.seconds(a.Work[ChildEnd].Handler / 1000),
	}
}

// follower is a minute of a stream that only waits; after a minute the client reconnects.
func (a Account) follower() Bill {
	p := a.Prices.Million
	return Bill{Table: a.Look * 60 * p.ReadUnits / 1e6, Requests: p.Invocations / 1e6, Duration: a.seconds(60)}
}

// Line is one item of the monthly cost of an idle stack.
type Line struct {
	What  string
	Count float64 // a month
	USD   float64
	Free  float64 // permanent free tier of every account, a month
}

// Beyond is the cost of the line for an account that uses nothing else.
func (l Line) Beyond() float64 {
	if l.Count <= l.Free {
		return 0
	}
	return l.USD * (l.Count - l.Free) / l.Count
}

// logBytes is the assumed size of a sweep's log: three lines of Lambda and one of ours.
const logBytes = 1000

// requestBytes is the size of the line of a request, with ids of usual lengths. The test of
// package requestlog measures it.
const requestBytes = 350

// Idle is the monthly cost of a stack without any use.
func (a Account) Idle() []Line {
	p, w := a.Prices.Million, a.Work[Sweep]
	line := func(what string, count, usd, free float64) Line { return Line{what, count, count * usd, free} }
	gbSeconds := Month * w.Handler / 1000 * float64(a.MemoryMB) / 1024
	polls, own := Month*Polls, Month*float64(w.Queue)
	return []Line{
		line("SQS: polls of the Step function's event source mapping", polls, p.QueueRequests/1e6, 1e6-own),
		line("SQS: requests of sweeps to the dead-letter queue", own, p.QueueRequests/1e6, 1e6-polls),
		line("DynamoDB: read units of sweeps", Month*w.Read, p.ReadUnits/1e6, 0),
		line("EventBridge Scheduler: the schedule of sweeps", Month, p.Schedules/1e6, 14e6),
		line("Lambda: requests of sweeps", Month, p.Invocations/1e6, 1e6),
		line("Lambda: GB-seconds of sweeps", gbSeconds, p.GBSeconds/1e6, 400_000),
		line("CloudWatch: GB of logs of sweeps", Month*logBytes/1e9, a.Prices.GB.Logs, 5),
	}
}

// total is the sum of the lines: at the prices, and beyond the free tier.
func total(lines []Line) (usd, beyond float64) {
	for _, l := range lines {
		usd += l.USD
		beyond += l.Beyond()
	}
	return usd, beyond
}
