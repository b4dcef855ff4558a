// Package host is the host of agents: what protocol adapters, the functions on AWS and the
// local host serve. A program that runs agents itself imports core/reveille, whose Runtime is
// a small front for one identity.
//
// # In one process
//
// [New] makes a [Host] of agents, models, tools and plugins. Without an Options.Waker the
// process has its own queue ([Queue]). A call that waits for a run takes the run's steps, and
// those of the child runs that it waits for. [Host.Play] submits and waits, [Host.Await] waits
// for a run that any caller has submitted, [Host.EventsOf] yields the events of a run as they
// happen. [Host.Work] takes the steps of the runs that no call waits for.
//
// Without an Options.Store everything is in memory, and a run whose call ends early is
// cancelled. With one a run outlives its call: the next call, Work or another process
// continues it.
//
// # Over a queue elsewhere
//
// [New] with an Options.Waker makes a Host over another queue, and its methods are what
// handlers call. [Host.Submit] queues a run for workers, each of which handles a
// wake-up by [Host.WorkBatch] or [Host.WorkLocal]. [Host.Stream] runs inline
// and shows the events as they happen; [Host.Follow] shows any run from its commits,
// and what its model is saying about a second later. A host calls [Host.Sweep] every
// minute, which finds threads whose wake-ups were lost. Reads, such as [Host.ReadRun],
// require an identity and return not_found for threads of other users.
//
// A run continues when its client has gone, or when its process ends: the queue, or the
// sweep, brings it to another process.
//
// # The methods by task
//
//	to start a run       Submit, SubmitTo, Stream, Play, EventsOf
//	to wait for one      Await, Follow, Iterate around either
//	to decide            Decide, DecideThread, StreamDecisions, StreamAnswered
//	to end one           CancelRun, CancelThread, InterruptThread
//	to start again       RetryRun a dead letter, TakeUp a failed run, Fork a thread
//	to change input      EditInput, RetractInput, before a step has read it
//	threads              CreateThread, UpdateThread, DeleteThread, Thread, Threads
//	messages             Messages, Mailbox for waiting input, Approvals for open questions
//	runs                 ReadRun, Runs, ActiveRun, RunOfKey, Steps, Committed
//	state                State at a revision, StatePatches between revisions
//	the deployment       Agents, Agent, DefaultAgent, Capabilities, Exposed, Limits
//	to work              Work, or WorkBatch and WorkLocal with Sweep, Rewake, Reclaim
//	to watch the process Stats, Healthy, Ready, Report and SumUsage of usage
//
// Methods for callers take a core.Identity: for threads that it may not read or change they
// return not_found. Methods for workers take none. Every method is safe for concurrent use,
// ends with its context, and returns errors with a code ([core.CodeOf]). A call that failed
// with code throttled or unavailable can be repeated with the same ids or keys, and takes
// effect once.
//
// # What a stream shows
//
// A stream has the events of one run, numbered from 1 for each listener. It ends when the run
// is done or waits for a person (run_finish), or before the run does (run_yield). The output of
// a model, and the progress of tools, is live. A committed event has a position: it appears
// once in a stream, and again, with the same position, when a client reconnects. Positions
// ascend, except after step_restarted, which declares a step void. To keep that order, a stream
// shows what other workers have committed of the run before it takes a step itself. A
// [Listener] receives the state where the stream starts, and its changes; a [Choosing] listener
// may decline both, and may ask for the thread's earlier messages.
//
// # Child runs in a stream
//
// A run that waits only for child runs continues by itself, so that its stream stays open, and
// shows what these runs do. Each child run is an activity of the kind core.ActivityAgentRun with
// the message id "agent-run:" and the run's id. The stream has a whole snapshot of it, a
// core.ChildProgress, when it sees the run first, with each change of its status, and otherwise
// at most every 500 ms. A snapshot is live only: it has no position, and is not repeated. A
// client that reconnects receives the newest one.
//
// The calls of child runs that wait for a person or a client are in the stream too, as
// tool_call_suspended, tool_call_resumed and tool_call_done with Event.Child. They are in
// [Host.ReadRun] of the run, and [Host.Decide] takes decisions on them with the child run's id.
//
// A stream ends when nothing changes any more without a person, or before a time: when the run
// waits for anything but child runs, or when each child run that it waits for does so too,
// directly or through its own child runs. The rule is the same for every protocol. A call that
// returns a Result waits for times as well.
//
// While a stream's own process takes a step of its run, the stream shows that step alone, and
// child runs that were started in it after the step. At most 8 child runs of a run are shown, 32
// of a stream, and 5 levels of them.
//
// # The parts
//
// The Host is a facade. Its parts are values that know only the parts below them:
//
//	player      submits a run, or waits for one, for a call that returns its Result
//	stepping    takes the steps of the run that a call waits for, if the process has its own queue
//	descendants follow the child runs of a follower's run, and tell whether all of them wait
//	descendant  one of them, with a follower of its own
//	progress    what is shown of it: the listener of that follower
//	Queue       the wake-ups of this process, shared by its workers and waiting calls
//	streams     makes followers, and starts them after decisions
//	worker      claims threads and takes their steps, by wake-up or inline for a stream
//	follower    reads a run from its source and feeds a stream, until the run or the time ends
//	unsaid      shows a stream what a model says before its turn is committed
//	demand      asks the process that calls the model to store what the model says
//	stream      decides what its listener is shown, in which order; reads nothing
//	audience    knows whether the listener is there, and what it has received
//	watches     the newest heads of followed threads, shared by all followers
//	permits     which runs may be claimed side by side in this process
//	reader      reads on behalf of callers: it refuses what they may not read
//	submitter   checks submissions against the agents and queues them
//
// A stream and its follower serve one request and have no lock. An inline step has returned
// before the follower shows anything, so that one goroutine at a time emits. Watches,
// permits, the queue and the meter are shared by all requests of the process and have locks, none
// of which is held over I/O.
//
// # Orders that must hold
//
//   - A permit precedes the claim, and the claim's thread is attended (run.Stepper.Attend)
//     in between: a lease would run out while a permit is waited for, and news of a claimed
//     thread must have a place to go.
//   - A follower joins its thread's watch before it reads the head: a write in between would
//     be missed otherwise.
//   - The hint of an inline decision is delayed by a lease, not dropped: a process that
//     dies before it claims delays the run and does not lose it.
//   - A stream shows what was committed before a claim (follower.overtaken) before the first
//     step under the claim emits.
//   - A worker acknowledges a hint only when the thread has another hint or needs none.
//   - A follower counts its thread's words before it looks at child runs: news of them that come
//     during the look end the next wait. Whoever looks at them must look for the end of the stream
//     too, before it waits again.
//   - The watch of a child run is joined before its head is read, as that of the stream's thread.
//   - A question of a child run follows the first snapshot of that run in the stream, and the last
//     snapshot precedes the result of the call that waits for it.
//   - No run waits for a reader: Emit never blocks, and a stream that a run waits for
//     does not wait for its listener (stream.hurry).
//
// # Where to look
//
//   - Which code takes the steps in a process with its own queue: stepping.after in stepping.go
//     for calls that wait, and Host.Work in workers.go.
//   - How a stream changes from inline to following: Host.Stream in streams.go and
//     worker.runInline in inline.go. The steps emit to the stream's audience; the follower
//     then continues after what they committed.
//   - The records that a follower reads: source.go. The events that a stream makes of them:
//     stream.go.
//   - The SSE id of a delta: Emitter.emitPlaced in core/internal/run/history/emitter.go makes the
//     position of every event, and adapters/protocols/httpapi/encoder.go sends it as the id.
//   - The end of a stream: follower.follow in follow.go. It ends with the run, with its
//     time, or when its listener is gone, which only audience.go knows.
//   - Child runs in a stream: follower.showAll in follow.go shows a head and then what is new of
//     the child runs. What wakes the follower for them: watch.joinFor in watch.go.
//   - The end of a stream whose child runs all wait: descendants.rest.
//   - A decision on a call of a child run: decidechild.go. Its place in reads: childtickets.go.
//   - The end of a stream on Lambda: adapters/aws/lambda/stream.go ends a request's context
//     before the invocation's deadline, follower.beforeReserve in follow.go ends the stream
//     before that, and functions/kit/serve/serve.go sets the longest time for a stream that
//     only follows.
//   - How a follower shows what a model is saying: unsaid.go. In this process it hears the
//     steps (core/internal/run/live/hear.go); for another process it leaves a mark, demand.go, and
//     reads the event chunks that core/internal/run/live/writer.go writes.
//   - The state in a stream: shownstate.go. Earlier messages in a stream:
//     streams.greet in streams.go.
//   - The result of Play and Await: player.end in play.go.
//   - How a follower learns of a commit: watch.go.
//   - A stream after a person's decision: Host.StreamDecisions in
//     streams.go, and resume.go, also for a client that retries.
//   - Which runs may be claimed side by side: permits.go, which work.go asks before each
//     claim.
//   - The content and the end of a page of messages: messages.go, pager.go and backwards.go;
//     messages that are visible before the log has them: early.go.
package host
