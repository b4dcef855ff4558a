// Package runtime runs agents: what most programs import.
//
// # In a program of your own
//
// [New] makes a [Runtime] of agents, tools and plugins, with everything in memory.
// [Runtime.Run] asks an agent and returns a [Result]; [Runtime.Events] yields the
// events of a run as they happen.
//
//	r, err := runtime.New(agent.Parts{
//		Specs:  []agent.Spec{{ID: "guide", Model: "m"}},
//		Models: map[string]agent.ModelBinding{"m": {Model: myModel}},
//		Tools:  []tool.Tool{tool.New("weather", "Tells the weather.", weather)},
//	})
//	result, err := r.Run(ctx, "guide", "What is the weather in Oslo?")
//
// [Runtime.RunInput] goes on with a thread: r.RunInput(ctx, result.Next("And in Rome?")).
// A run whose call waits for a person returns with its tickets, and [Runtime.Resume]
// goes on with it. A run that failed is a [*RunError]; one that a stop policy, a gate or
// a cancel ended is not. The examples of this package are whole programs.
//
// Such a runtime has no workers: the calls that wait for a run take its steps. When the
// context of such a call ends, or its events are broken out of, the run is cancelled.
//
// # In a host
//
// [Build] makes a Runtime of a store, a queue and agents, and its methods are what
// handlers call. [Runtime.Submit] queues a run for workers, each of which handles a
// wake-up by [Runtime.WorkBatch] or [Runtime.WorkLocal]. [Runtime.Stream] runs inline
// and shows the events as they happen, [Runtime.Follow] shows any run from its commits,
// and what its model is saying about a second later. [Runtime.Sweep], every minute,
// finds threads whose wake-ups were lost. Reads, such as [Runtime.ReadRun], ask for an
// identity and return not_found for what belongs to somebody else.
//
// A run goes on when its client has gone, or when its process ends: the queue, or the
// sweep, brings it to another one.
//
// # What a stream shows
//
// The events of one run, numbered from 1 for each listener, until the run is done or
// waits (run_finish), or until the stream is over and the run is not (run_yield). What a
// model says, and what tools show, comes live; what is committed comes with a position,
// once in a stream, and again, with the same position, to whoever comes back. Positions
// come in order, but behind step_restarted: before a stream takes a step of its own, it
// has shown what others have committed of the run. A [Listener] is given the state where
// the stream begins, and its changes; one that is [Choosing] may do without, and may ask
// for the thread's earlier messages.
//
// # Where to look
//
//   - Who takes the steps where there are no workers: soloWork.after in solowork.go.
//   - How a stream goes from inline to following: Runtime.Stream in streams.go and
//     worker.runInline in inline.go. The steps emit to the stream's audience
//     themselves; the follower then continues after what they committed. What another
//     worker committed before a claim: follower.overtaken in follow.go.
//   - What a stream shows, and in which order: stream.go, which reads nothing; source.go
//     lists what a follower reads.
//   - Where it is decided that a stream ends: follower.follow in follow.go. It ends
//     with the run, with its time, or when its listener is gone, which only audience.go
//     knows.
//   - How a follower shows what a model is saying: unsaid.go. In this process it hears the
//     steps (core/run/live/hear.go); in another one it leaves a mark, demand.go, and reads the
//     event chunks that core/run/live/writer.go writes.
//   - What a stream shows of the state: shownstate.go. What it shows of earlier messages:
//     streams.greet in streams.go.
//   - What Run returns: player.end in run.go.
//   - How a follower learns that something was committed: watch.go. One watch per
//     thread and process, which the mailbox tells of this process's writes and which
//     reads the head on an interval for those of others.
//   - What a stream shows after a person's decision: Runtime.StreamDecisions in
//     streams.go, and resume.go, also for a client that tries again.
//   - Who may be claimed beside whom: permits.go, which work.go asks before each claim.
//   - What a page of messages has, and where it ends: messages.go and pager.go; what is
//     visible before the log comes to it: early.go.
package runtime
