// Package core is the vocabulary of Reveille: the data that all other packages use, its
// JSON form and its validation. It contains no behavior and imports no public package of
// the project.
//
// A [Message] is one entry of a conversation, written by a user, a model or a tool. A [Run]
// is one execution of an agent on a thread. An [Event] is one item of a run's stream, and
// its Position is its place there. A [Ticket] is a tool call that waits for a [Decision]. An
// [Error] carries the stable code that the HTTP API returns.
//
// # Words
//
// Each word has one meaning in names, documents and wire formats. A name without a package
// is in this package. Other packages are in the folder core/PACKAGE or
// core/internal/PACKAGE.
//
// Requests and responses:
//
//   - thread: a persistent conversation and its state; [ThreadKey] identifies it.
//   - message: one entry of a thread, by a user, a model or a tool; [Message].
//   - run: one execution of an agent on a thread; [Run].
//   - step: one inference and the tool calls that it requests; run.Stepper executes it.
//   - turn: the model's response in a step, a [Message] of [RoleAssistant].
//   - round: the tool calls of a turn, until each call has its result.
//   - tool call: a model's request to run a tool; [ToolCall]. The tool receives a tool.Call.
//   - result: the outcome of a tool call; each call has exactly one; [ToolResult], [ResultStatus].
//   - event: one item of a run's stream; [Event].
//   - position: the place of an event in its stream, sent as the SSE id; [Event.Position].
//   - termination: the reason for which a run ended; [Termination].
//
// Parts of an agent:
//
//   - agent spec: an agent as data; agent.Spec. agent.Parts holds specs and their code.
//   - model: returns a turn for a request; model.Model.
//   - provider: a service that runs models. An adapter binds it to a model's id; agent.ModelBinding.
//   - tool: a function that a model can call; tool.Tool, made by tool.New.
//   - plugin: code that takes part in runs; plugin.Plugin.
//   - phase: a named point in a step; [Phase].
//   - hook: a plugin's function that runs at a phase; plugin.Hook.
//   - gate: a plugin's function that allows, answers, suspends or blocks a call; plugin.Verdict.
//   - approval: a tool's question to a person before each of its calls; tool.Spec.
//   - transform: a plugin's last change of the request to the model; plugin.Registrar.
//   - section: the part of a spec that configures a plugin; plugin.Section.
//   - stop policy: a rule that can end a run early; agent.StopPolicy.
//   - pool: several models that agents use as one; agent.ModelPoolSpec.
//   - pin: the hash of the agent that a run started with, and keeps; pins.Pins.
//   - window: the part of a conversation that the model receives; window.Newest.
//
// State and changes:
//
//   - state key: a typed value of a thread, a run or a call; state.Key.
//   - snapshot: the state at one revision; it never changes; state.Snapshot.
//   - revision: the number of commits that changed the state; state.Snapshot.
//   - command: the return value of a hook or tool: mutations, actions, effects; state.Command.
//   - mutation batch: changes that apply together or not at all; state.Batch.
//   - action: work that a command schedules for a phase of the run; plugin.Action.
//   - effect: a change outside the runtime, made after a commit; plugin.Effect.
//   - patch: the new values that a commit produced; state.Patch. A state.Fold reads patches.
//   - context message: a text that the model reads and no thread stores; plugin.ContextMessage.
//   - profile: a value outside of threads, changed immediately; state.ProfileKey.
//   - totals: usage, steps and failures of a run so far; thread.Totals.
//
// Waiting and queues:
//
//   - suspension: the thing that a call waits for; [Suspension].
//   - ticket: a suspended call, as approvers and clients read it; [Ticket].
//   - decision: the reply of a person, a client, a child run or the clock to a ticket; [Decision].
//   - timer: a ticket that the clock decides; [TicketTimer].
//   - remember: how long a person's decision lasts, and which calls it covers; [Remember], [RememberAs].
//   - permission rule: allows, denies or asks about the calls that match a pattern; core/plugins/permission.
//   - dispatch: a durable delivery of a run to a worker; thread.Dispatch.
//   - mailbox: the queue of dispatches; mailbox.Service.
//   - submission: new input for a thread; mailbox.Submission.
//   - opening: the part of a submission that describes the run it opens; mailbox.Opening.
//   - origin: the source of a run's input: a user, or the deployment itself; [Origin].
//   - inbox: input and decisions that wait for a run's next step; thread.InboxEntry.
//   - wake-up: a message that names a thread that may have work: a hint, never the truth; [WakeUp].
//
// Durability:
//
//   - head: the one record of a thread that concurrent writers change; thread.Head.
//   - transition: one change of a head, computed by thread.Apply; thread.Transition.
//   - commit: the write that makes a transition and its records visible.
//   - log: a thread's records in order: input, turns, results, steps; thread.Entry.
//   - claim: a worker's right to step a thread; thread.Claim.
//   - lease: the time that a claim lasts without renewal.
//   - fence: the number of a claim. The store refuses the writes of an older one.
//   - epoch: counts the interrupts of a thread. A hint with an earlier epoch is late.
//   - takeover: a claim on a run whose previous claim was lost.
//   - cursor: the place of a run in its step; thread.Cursor.
//   - replay (stream): a run's events, computed again from its records; history.Replayer.
//   - replay (run): the present code, executed against a run's record; core/internal/sim/replay.
//
// The file README.md of this folder describes how these parts work together, and where to
// find them.
package core
