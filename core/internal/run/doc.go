// Package run is the step machine: one [Stepper.Step] takes a claimed run one step
// further and commits the outcome.
//
// # A step
//
// A step is an inference and its tool round. The cursor in the thread's head
// records the place of a run within its step, so that any process can continue:
//
//	start -> infer -> tools -> infer -> ... -> done
//
// Step loads the committed thread, reads the input that arrived since the last
// step, runs the phases before the inference, streams the inference, and then makes
// at most two commits:
//
//   - Commit A makes the turn visible before any of its calls can act, and reserves
//     the sequences of their results. A turn without calls has none.
//   - Commit B moves the head over the results and over the step record, which
//     holds the changes of the hooks after the turn, and hands the run on.
//
// A tool that only reads runs while commit A is written (early.go). All that its
// call leads to comes after the commit, and nothing of it remains if that is refused.
//
// Between the two lies the tool round. Each result is put at its reserved sequence
// as soon as its tool returns, before any hook looks at it. Only the last result of
// a round travels with commit B. The head's outcome of a commit counts, not the
// step's wish: a natural end with unread input continues the run. An end with open
// calls, or with a listener of RunEnd, starts to close the run instead of ending
// it. The records of a commit are therefore built from the head that results from
// it, and built again for every head that it is tried on.
//
// # What survives a crash
//
// The head is the only record that races, and only its compare-and-set decides.
// Records are written before the head that covers them, under the fence of the
// claim. A claim that was lost meets a higher fence, or a head that has moved, and
// stops with store.ErrFenced. Four things follow:
//
//   - A crash before commit A costs an inference, a crash after it nothing that was
//     stored. The claim that takes the run over adopts the stored results: it puts
//     the same bytes again under its own fence, since the worker before it may only
//     have paused, and runs the rest. Stop policies judge the same turn again and
//     must decide the same; gates judge the calls without a result.
//   - A tool may run again when the process died between its return and the put of
//     its result. A tool that must not (AtMostOnce in its spec) is marked in the
//     head just before it starts; without a result its call then reads "outcome
//     unknown".
//   - A response that was lost on the way is settled by commit ids, in the
//     committer: it sends the same bytes until it knows whether they were applied.
//   - A claim may make other bytes for a sequence that it has used, when a commit
//     was refused after its records were stored. The store tells them apart from a
//     late write of another claim by the fence alone, so the step takes the next
//     fence (thread.Refence) and writes under that.
//
// # A round that waits
//
// Three things may let a call wait for a decision: a gate, the approval of a tool's
// spec, which works like a gate, and the tool itself. The head then has a ticket:
// the call, and hashes of the question (C#) and, later, of the decision (D#). The
// names of both records follow from these alone; a record that the head does not
// name does not count. Tickets are put in the head while siblings still run, or
// with the write that ends the step, and announced after it. When nothing runs any
// more and calls wait, the step merges the existing results, stores the outcome of
// the merge (C#round), and gives up the claim: nothing runs, nothing is held. A
// decision makes the run claimable again. The next claim starts from the stored
// values and asks the gates of the decided calls again. It runs no hook of a merged
// call and no tool with a result.
//
// The agent's mode decides how the calls of a round run. In parallel, each sees the
// state at the time when the round started or resumed. If hooks changed the same
// exclusive key as a sibling, or their change was for one revision only, they run
// again before their call's result is stored. Actions that waited for
// BeforeToolExecute are run by the first call that reaches it. In sequence, each
// call is merged before the next one's gate.
//
// # State
//
// The log holds values: turn and step records carry the patch that their hooks
// made, results carry the requests of their hooks and tools until the round is
// merged. Folding the log calls no code of any plugin. A tool's change is tried on
// the snapshot that its call received, before its result is stored: a change that
// does not apply there is the call's error, without changes and effects. In a
// parallel round it is tried once more, on the outcome of the results that were
// stored before it (line.go). A change that does not apply there, or was for one
// revision only, is the call's error too. So updates count in the order in which
// their results were stored, and of two of one exclusive key the later. The result
// has its place in that order, which the merge, a takeover and a replay follow;
// results that change state are put one after the other. A result that the put of a
// lost claim brings late is tried again after the others, and its tool does not run
// again, even if the call has waited since and a person has decided about it: what
// has run is not said to be denied. AfterToolExecute runs after all of them, in call
// order.
//
// The results that a close merges of a sequential round lack AfterToolExecute of
// the calls before them: a change that does not apply without it is dropped with a
// log line.
//
// Effects run after the write that makes visible their records: commit A for the
// phases before it; for a call the write that moves it to done, even if that is a
// nack, the close of a cancelled run, or commit B of the claim that adopted it;
// commit B for StepEnd; the close for RunEnd. A crash may lose them, nothing runs
// them twice. An effect that fails is logged and counted, and its record remains.
//
// # The agent
//
// A run is pinned to the agent that it starts with: its record names the hash of
// the agent's data, which is stored before the first commit (pins.Pins). Every
// later step resolves that hash, so that a run ends with the spec that it started
// with, even if the program has changed the agent of that id. Tools, plugins and
// policies are the running program's code. If the store fails, the step is tried
// again; if an agent cannot be resolved any more, the run ends.
//
// # The request
//
// One function makes the request of an inference, for the first call, a retry and a
// continuation alike: prompt.Request. It depends only on the records that were read
// and on the draft. Tools and hooks change the request only by the built-in actions
// of package plugin, whose keys it reads, and by transforms, which come last. Parts
// of the request that no log holds, such as context messages, are made again for
// each step.
//
// # Model calls
//
// The agent limits the calls of a step's model, over all deliveries of the step.
// The place of a repeated call decides how it continues:
//
//   - In the same step, while a client listens, the pause is short and time is
//     left. The next call continues after the text that was shown, whose bytes are
//     never sent again, and the turn is what both generated. Package run/inference
//     decides which parts of an interrupted call remain. Its request differs from
//     the first in two messages after the conversation, which are never stored.
//   - Else in another delivery, after a nack that stores how many calls have
//     failed. It infers again, as after a crash, and a reader learns that the words
//     that it saw are void (step_restarted).
//
// If the agent's model is a pool, a failure may be a reason to call another member,
// immediately, which continues in the same way. The member that a step starts with
// follows from the log: each turn's record has its member and how often the thread
// has switched. The circuits of models belong to the process: a call that one
// refuses does not count as failed, and the step waits in the mailbox until the
// circuit lets a call through.
//
// # Clocks
//
// Hooks, gates, tools and policies see times that are stored with their outcome,
// and ids derived from their place in the run, never the clock of the process that
// happens to run them. These are the times when the step started, when its last
// word was generated, when a round started, when a result was made, when the run
// ended. Each passes through one function of choices.go, which asks [Choices] for it,
// as for everything else that no record decides. So a claim that runs the hooks of
// a stored record again shows them the same values as the first one did. A replay
// (core/internal/sim/replay) drives this code over a recorded thread and makes the
// same records again, byte for byte.
//
// # Events
//
// The events that a listener receives follow from records, or are live only:
// package run/history has both. An event of a record is made by one function for
// the live stream and for a [history.Replayer], and has a position that follows
// from the record. Both are equal, except for how the model's words were cut. A
// reader receives, of the state, each record's patch, at its place, and the whole
// without a position: where a stream starts, and after the step that has changed
// it. Only events that [history.Visible] allows are shown. Nothing is announced
// before the commit that makes it true, except the words of a turn that is being
// generated: if its claim is lost, step_restarted voids them. Package run/live
// keeps those words until their commit for readers of this process. Readers in
// other processes leave a mark next to the head, which the watch reads with it.
// While the mark is valid, the words are stored, a chunk for each half second or 4
// KB: a cache that no step reads and no head names.
//
// # How a step goes wrong
//
// A claim whose response came after its lease is refenced before any code runs
// under it: it may be another's by then.
//
// Every error ends in one of four ways, which remedy and giveBack choose:
//
//   - The claim is lost: stop, without another write.
//   - The run was ended from outside (a cancel, an interrupt): close it.
//   - Another attempt cannot succeed (a permanent model error, a fatal tool, a hook
//     that failed, an agent that is gone, a record that is damaged, a turn over the
//     store's limit, a whole invocation without progress): the run fails.
//   - Every other error returns the run to the mailbox by a nack. A failure and a
//     deadline are attempts, five of which dead-letter the run. A host that stops,
//     an input that was edited in between and a record of a newer program are not,
//     and model calls are counted apart, or have the time of the agent's patience: see
//     inference/patience.go.
//
// A run with a stop policy for that purpose continues after a model that failed
// permanently: the failure is a record in place of the turn, and a step like any
// other. See failStep in infer.go, and judge.go for the view of the policies.
//
// All ends, the natural one included, take one way: see the comment at the head of
// end.go. An end that the store refuses as too large takes a smaller form
// (thread.Form), down to one that every store accepts.
//
// # The values of a step
//
// A Step call is a machine, which holds the others by value and leads them. Each
// sees only those before it, so that a method's receiver shows what it may change:
//
//   - holder: the claim. It has the run's place in the store (head, fence) and the
//     step's outputs (events, log); it alone changes the head.
//   - base: the values that were read (agent, run record, conversation). Commits
//     replace it, nothing changes it.
//   - draft: the turn and the changes since the last commit, which no other step
//     sees. A commit makes records of it, and it becomes the conversation that the
//     next draft starts from.
//   - prompt: the request to the model. It lives as long as the draft that it
//     reads: its window is decided with the first request of an inference and goes
//     into the turn's record.
//
// The model's turn (inference.Turn) knows prompt and claim as two small interfaces.
// The tool round (toolRound) writes into the draft.
//
// # The tool round
//
// Six values work on the calls of a turn. Each names the round, and only those
// below it that it calls:
//
//	round      the calls: how far each is, where its result is stored, who has seen it
//	merger     takes into the draft the changes of a call, AfterToolExecute included
//	gates      decide whether a call may run: checks, decisions, gates, BeforeToolExecute
//	tickets    suspended calls: proposed to the head, announced after its write
//	line       gives a call its one result, and a parallel round's results their places
//	scheduler  brings calls from one to the next, and runs their tools
//
// None knows one above it. Gates and tickets return their findings, and the
// scheduler has them concluded. So the line can run the hooks of a call once more
// when its result exists. Work that goes through several of them belongs to
// toolRound: to take over the stored results of an earlier claim, to merge a round,
// to close one.
//
// # Concurrency
//
// One goroutine is the step: it alone reads and writes the machine's values and the
// round, except for the parts that this section names. Concurrently run
//
//   - the watch, which starts when a step lasts longer than two seconds: it then
//     reads the head every two seconds, renews the lease past two thirds and
//     cancels the step's context when the claim is lost or the run was ended. It
//     shares three atomic facts with the step (hold). It leaves each head that it
//     reads in news, for a round to which a decision may have come; heads that it
//     writes differ from the step's own in version and lease only, which the
//     committer's loop settles;
//   - any other code that writes to the thread in this process: the committer
//     passes each head to Stepper.Moved (told.go), which immediately does with it
//     what the watch would do at its next look;
//   - the function that stores event chunks, in a step whose words a reader in
//     another process waits for: it receives events under its own lock
//     (live.Writer), and neither waits for the other;
//   - the tools of a round. They receive a call by value. A sequential round waits
//     for each of them, of which the first may run while the step writes commit A;
//     calls of any other round leave the outcome of their tools
//     in news, and all leave there the reports that tools show while they run. Its
//     mutex is the only lock between them and the step; the scheduler, which is the
//     step's goroutine, waits for that, emits the reports, stores the results and
//     commits. Each tool runs in a separate goroutine, the only one that can
//     outlive the step: a tool that still runs two seconds after its context has
//     ended is abandoned, and has nothing of the step by then (see finishTool);
//   - hooks of a phase, and BeforeToolExecute of the calls of a round that are
//     about to start, on immutable snapshots and messages; and reads of a cold step
//     that do not need each other, each into a separate field. The step waits for
//     all of them before it does anything else.
//
// All of it goes through env.Env, so that the simulator runs one function at a time
// in an order that it chooses. The writes of a step do not depend on that order,
// except for the places of a parallel round's results: ids derive from run, step
// and call index, and of several errors the first in call order counts. Results are
// announced as they are stored; one that overtakes an earlier call has no position.
//
// # Memory
//
// The committed part of a thread is kept in memory up to a number of bytes, as an
// immutable checkpoint.Conversation per thread. Its messages are a list. The draft
// that continues it and the conversation after that share one array of it: a step
// copies the messages that it adds, and not the thread. A step that finds its
// thread there reads the log after it, usually nothing; a cold one reads its window
// backwards, the stored state (S#) and the records after it. Both make the same
// request and write the same bytes: S# is a cache, and the window depends on the
// newest messages only.
//
// # Where to look
//
// Start with run.go, which has the values that a host gives and a step returns, and
// continue with advance.go: the way of one step, from its reads to commit B. The
// files lie in units, of which each uses only those before it
// (scripts/verify/house/testdata/units.txt):
//
//	shared    shared.go, news.go, told.go: all that others touch than the step's goroutine
//	ports     choices.go, observe.go, hear.go: what a host decides, counts and listens to;
//	          logger.go, detail.go, ended.go: log lines, and the texts and effects of errors
//	claim     holder.go, commit.go: the head, its writes, and puts; named.go: the records
//	          that the head names; watch.go, lacking.go, report.go
//	hooks     hooks.go: the code of the agent's plugins
//	read      read.go, resolve.go, load.go: the values that were read; snapshot.go: S#
//	draft     draft.go: the turn and the changes since the last commit
//	prompt    prompt.go: the model's request; context.go, window.go, prefix.go, summary.go:
//	          its parts
//	calls     call.go, calls.go: how far each call is
//	writes    turnwrite.go (commit A), stepwrite.go (commit B), waitwrite.go, closewrite.go,
//	          nackwrite.go; runrecord.go: their common parts
//	tools     execute.go, parts.go, show.go: one run of a tool
//	round     round.go, result.go, adopt.go, through.go, effects.go; then, one on the other,
//	          merge.go and recall.go, gate.go and resume.go, suspend.go and tickets.go,
//	          line.go, lineup.go and conclude.go, schedule.go and running.go, toolround.go
//	machine   machine.go, save.go, committed.go; account.go, announce.go, failedactions.go:
//	          the notices of a step and their receivers
//	policies  judge.go, answer.go: whether the run continues
//	input     input.go, supersede.go: new input, and the log that it supersedes
//	ends      end.go: the table of all ends; forms.go, runend.go, giveback.go
//	way       guard.go: Step, and the treatment of an error; advance.go, infer.go,
//	          early.go, tools.go, finish.go
//
// What is a run's clock, and where is it read? choices.go, and the field at of
// draft.
//
// Which records are read, and when? load in load.go, by package run/checkpoint,
// which folds the log and keeps it in memory.
//
// Where does a stream get the state that it starts with? announceFound in
// announce.go for the reader of a live step, checkpoint.Reader.StateAt for one that
// follows.
//
// How do other readers see a turn while the model generates it? A live.Writer keeps
// its events for readers of this process. For readers of others, who ask by a
// live.Mark, it also stores them as event chunks during the inference; package host
// reads them (core/host/unsaid.go), as long as their claim infers according to the
// head.
//
// Where does a delta get its position, which is its SSE id? inference/speech.go
// knows the block and the byte at which it ends (say, emit), and history.Emitter
// makes a position.Position of them, for a history.Replayer as well. The encoder of
// package adapters/protocols/httpapi writes it as the frame's id; AI SDK's frames
// have none.
//
// What happens when a tool panics? toolrun.Execute in
// core/internal/toolrun/execute.go makes an error result of it, whose text does not
// quote the panic. It runs in a separate goroutine (startTool in execute.go);
// toolReturned in running.go logs the stack, and line.conclude in conclude.go keeps
// the result like any other.
//
// How does a client see the reports of a running tool? show.go: through news to the
// scheduler's wait (await in running.go, awaitTool in execute.go), which emits
// them. core/internal/show decides which reports are held back or dropped, by its
// Live.
//
// Where is it decided that a run waits? runRound in tools.go: a call of the round
// is open when the scheduler can start nothing and waits for nothing (parallel and
// ready in schedule.go). commitWait next to it proposes it, and Head.outcome in
// core/internal/thread/outcome.go decides.
//
// Which code decides that a run has lasted long enough? judge in judge.go, which
// asks max_rounds and then the policies of the agent and of the program. Its
// comment has the times.
//
// Which records does a cancelled run write? The comment at the head of end.go lists
// them, for each end; Cancel in core/internal/thread/control.go starts it, and
// CommitClose in core/internal/thread/closing.go is the head's last change.
//
// What happens to a step that fails? remedy in guard.go chooses, and giveBack in
// giveback.go releases the claim; ended.go decides which errors end the run, and
// inference/retry.go when a model is called again. adopt.go finds the results that
// a crashed step has stored.
package run
