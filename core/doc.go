// Package core is the vocabulary of Reveille: the data that every other
// package speaks of, its wire form (JSON) and its validation. It holds no
// behaviour and imports nothing of the project.
//
// A [Message] is what a person, a model or a tool said on a thread. A [Run] is
// one execution of an agent over a thread. An [Event] is one item of a run's
// stream, and its Position the place in it. A [Ticket] is a tool call that waits
// for a [Decision]. An [Error] carries the stable code that the HTTP API returns.
//
// # Words
//
// One word, one thing, in names, docs and wire formats. Names without a package are
// of this one, the others of the folder core/PACKAGE.
//
// What somebody asks for:
//
//   - thread: a persistent conversation and its state; [ThreadKey] names it.
//   - message: what a person, a model or a tool said on a thread; [Message].
//   - run: one execution of an agent over a thread; [Run].
//   - step: one inference and its tool round; run.Stepper takes one.
//   - turn: what the model says in a step, a [Message] of [RoleAssistant].
//   - round: the tool calls of a turn, until each has its result.
//   - tool call: a model's request to run a tool; [ToolCall], tool.Call to the tool.
//   - result: what a call came to, exactly one; [ToolResult], with its [ResultStatus].
//   - event: one item of a run's stream; [Event].
//   - position: where in the stream an event stands, the SSE id; [Event.Position].
//   - termination: how a run ended; [Termination].
//
// What an agent is made of:
//
//   - agent spec: an agent as data; agent.Spec. agent.Parts has it beside its code.
//   - model: what says a turn when it is given a request; model.Model.
//   - provider: who runs models; an adapter is bound to a model's id, agent.ModelBinding.
//   - tool: what a model can call; tool.Tool, made by tool.New.
//   - plugin: code that takes part in runs; plugin.Plugin.
//   - phase: a named point in a step; [Phase].
//   - hook: a plugin's function at a phase; plugin.Hook.
//   - gate: a plugin's function that decides about a call; plugin.Verdict.
//   - approval: a tool's question to a person before each of its calls; tool.Spec.
//   - transform: a plugin's change of the request to the model; plugin.Registrar.
//   - section: a part of a spec that configures a plugin; plugin.Section.
//   - stop policy: what ends a run that could go on; agent.StopPolicy.
//   - pool: models that agents use as one; agent.ModelPoolSpec.
//   - pin: the hash of the agent that a run began with, and ends with; pins.Pins.
//   - window: how much of a conversation a model is shown; window.Newest.
//
// What changes:
//
//   - state key: a typed value of a thread, a run or a call; state.Key.
//   - snapshot: the state at one revision, which never changes; state.Snapshot.
//   - revision: counts the commits that changed the state; state.Snapshot.
//   - command: what a hook or tool returns: mutations, actions, effects; state.Command.
//   - mutation batch: changes that apply together or not at all; state.Batch.
//   - action: work that a command schedules for a phase of the run; plugin.Action.
//   - effect: what happens in the world after a commit; plugin.Effect.
//   - patch: what a commit came to, as values; state.Patch. A state.Fold reads it again.
//   - context message: a text that the model reads and no thread stores; plugin.ContextMessage.
//   - profile: a value outside of threads, changed at once; state.ProfileKey.
//   - totals: what a run came to so far: usage, steps, failures; thread.Totals.
//
// What waits:
//
//   - suspension: what a call waits for; [Suspension].
//   - ticket: a suspended call, as those who decide read it; [Ticket].
//   - decision: what a person, a client or a child run says about it; [Decision].
//   - remember: for how long a person's decision holds, and for what; [Remember], [RememberAs].
//   - permission rule: what becomes of the calls that a pattern matches; core/plugins/permission.
//   - dispatch: a durable delivery of a run to a worker; thread.Dispatch.
//   - mailbox: the queue of dispatches; mailbox.Service.
//   - submission: new input for a thread; mailbox.Submission.
//   - opening: what a submission says of the run that it opens; mailbox.Opening.
//   - origin: whose input opened a run, a user's or the deployment's own; [Origin].
//   - inbox: input and decisions that wait for a run's next step; thread.InboxEntry.
//   - wake-up: a message that says where there may be work: a hint, never the truth; [WakeUp].
//
// What keeps it together:
//
//   - head: the one record of a thread that races; thread.Head.
//   - transition: one change of a head, by thread.Apply; thread.Transition.
//   - commit: the write that makes a transition and its records visible.
//   - log: a thread's records in order: input, turns, results, steps; thread.Entry.
//   - claim: a worker's right to step a thread; thread.Claim.
//   - lease: how long a claim holds without renewal.
//   - fence: the number of a claim; what an older one writes is refused.
//   - epoch: counts the interrupts of a thread; a hint of an earlier one is late.
//   - takeover: a claim on a run whose last claim was lost.
//   - cursor: where in its step a run stands; thread.Cursor.
//   - replay: of a stream, its events made again from the records; history.Replayer. Of a run,
//     the present code driven over its record; core/internal/sim/replay.
//
// # Where to look
//
// The questions that newcomers ask first, each with at most three files, in the order in
// which to read them. The package docs of core/internal/run, core/host and adapters/internal/protocol
// say more.
//
// Where does a run wait for a person?
//
//   - core/internal/run/tools.go, runRound: the round has open calls, and nothing of it can
//     run any more, as core/internal/run/schedule.go has found.
//     commitWait, there too, proposes to wait, and stores what for.
//   - core/internal/thread/outcome.go, Head.outcome: decides. If a decision or input arrived in the
//     meantime, the run continues.
//
// What happens when a tool panics?
//
//   - core/internal/toolrun/execute.go, Execute: the call gets an error result, whose text does not
//     quote the panic. The model reads it, and the run continues.
//   - core/internal/run/execute.go, runTool: the goroutine in which it panics, and why nothing
//     else of the step is in there.
//   - core/internal/run/running.go, toolReturned: logs the stack and stores the result, like any other.
//
// How do I add a protocol?
//
//   - adapters/internal/protocol/doc.go: the files that it takes, and what each is given.
//   - adapters/internal/protocol/example_test.go: such a protocol, whole.
//   - functions/app/web/web.go: where it is mounted.
//
// What does a cancelled run write?
//
//   - core/internal/thread/control.go, Cancel: the first write, which makes the run closing.
//   - core/internal/run/end.go: the comment at its head has every end, and what each writes in
//     which order; closeRun is the code.
//   - core/internal/thread/closing.go, CommitClose: the last write.
//
// Where does a delta get its SSE id?
//
//   - core/internal/position/position.go, Position: what a position is made of, its form and its order.
//   - core/internal/run/inference/speech.go, say and emit: the block of a delta, and the byte at which it ends;
//     package core/internal/run/history makes the position of them.
//   - adapters/protocols/httpapi/encoder.go, add: the position becomes the frame's id.
//
// How often is a model called again?
//
//   - core/agent/spec.go, ModelCalls: the calls that a step may make, over all its deliveries.
//   - core/internal/run/inference/retry.go, callFailed: whether the call is repeated in this step, after a
//     pause, or the step is given back to the mailbox.
//   - core/internal/thread/nack.go, Nack: stores the failed calls in the head, so that the next
//     delivery continues the count.
//
// How does a message become an item of DynamoDB?
//
//   - core/internal/thread/records.go, EncodeEntry: the log record of the message, as JSON.
//   - core/store/record.go, Record: its name, fence and version.
//   - adapters/stores/dynamo/item.go, encodeRecord and setPayload: its attributes, compressed.
//
// Where is a summary made?
//
//   - core/internal/run/compaction/maker.go, Compact: outside of a step, for a hint; without a claim.
//   - core/internal/run/summary.go, compact: within a step whose request is too large.
//   - core/internal/run/compaction/summarize.go, summarize: the request to the model, in both cases.
//
// What closes a stream on Lambda?
//
//   - adapters/aws/lambda/stream.go, Stream: the request's context ends before the
//     invocation's deadline.
//   - core/host/follow.go, beforeReserve: the stream ends before that, with its last
//     event; its client reconnects.
//   - functions/kit/serve/serve.go: the longest time for a stream that only follows.
//
// When is a decision a duplicate?
//
//   - core/mailbox/decide.go, Decided: what is promised to the client.
//   - core/internal/thread/decide.go, Decide: the head knows the decision's key.
//   - core/mailbox/recall.go, confirm and recall: what was stored is compared, also after
//     the run has ended.
//
// Where is usage charged?
//
//   - core/internal/accounting/doc.go: the three ledgers, and what a crash does to each.
//   - core/internal/accounting/run.go, Turn and Void: the tenant's counters, before the commit of a turn.
//   - core/internal/accounting/settle.go, Settle: the usage record, in the commit that ends a stretch.
//
// How do I add a merge operation?
//
//   - core/state/edit.go, editMerge: the operation of a document, and the method of Path
//     that makes it.
//   - core/state/document.go, apply: what it does.
//   - core/state/lattice/lattice.go, Key: for a whole type that merges instead.
package core
