// Package run is the step machine: one [Stepper.Step] takes a claimed run one
// step further and commits what it did.
//
// # A step
//
// A step is an inference and its tool round. Where a run stands is its cursor,
// in the thread's head, so that any process can go on:
//
//	start -> infer -> tools -> infer -> ... -> done
//
// Step loads what is committed, hears what people said since the last step,
// runs the phases before the inference, streams the inference, and then makes at
// most two commits:
//
//   - Commit A makes the turn visible before any of its calls runs, and reserves
//     the sequences of their results. A turn without calls has none.
//   - Commit B moves the head over the results and over the step record, which
//     holds what the hooks behind the turn changed, and hands the run on.
//
// Between the two lies the tool round. Each result is put at its reserved sequence
// as soon as its tool returns, before any hook looks at it, except the last one of
// a round, which travels with commit B. What the head makes of a commit counts, not what
// the step wished: a natural end with unread input goes on, an end with open
// calls or a listener of RunEnd begins to close the run instead of ending it.
// The records of a commit are therefore built from the head that it comes to,
// and built again for every head that it is tried on.
//
// # What survives what
//
// The head is the only thing that races, and only its compare-and-set decides.
// Records are written before the head that covers them, under the fence of the
// claim; a claim that was lost meets a higher fence, or a head that has moved,
// and stops with store.ErrFenced. Four things follow:
//
//   - A crash before commit A costs an inference, one after it nothing that was
//     stored. Whoever takes the run over adopts the stored results: it puts the
//     same bytes again under its own fence, since the worker before it may only
//     have paused, and runs the rest. Stop policies judge the same turn again
//     and must come to the same; gates are asked about calls without a result.
//   - A tool may run again when the process died between its return and the put
//     of its result. One that must not (AtMostOnce in its spec) is marked in the head
//     just before it starts; without a result its call then reads "outcome
//     unknown".
//   - A response that was lost on the way is settled by commit ids, in the
//     committer: the same bytes go out until it is known whether they were
//     applied.
//   - A claim may come to other bytes at a sequence that it has used, when a
//     commit was refused after its records were stored. The store tells them
//     apart from a late write of another claim by the fence alone, so the step
//     takes the next fence (thread.Refence) and writes under that.
//
// # A round that waits
//
// A gate, the approval of a tool's spec, which is asked as a gate, or a tool may let
// its call wait for a decision. The head then has a ticket: the call, hashes of what
// is asked (C#) and, later, of what was decided
// (D#), and from these alone the names of both records follow; what the head does
// not name does not count. Tickets are put in the head while siblings still run, or
// with the write that ends the step, and announced after it. When nothing runs any
// more and calls wait, the step merges the results that there are, stores what that
// came to (C#round), and gives up the claim: nothing runs, nothing is held. A
// decision makes the run claimable again; whoever comes starts from the stored
// values, asks the gates of the decided calls again, and runs no hook of a merged
// call and no tool with a result.
//
// How the calls of a round run is the agent's mode. Side by side each sees the
// state as it was when the round began, or went on; hooks that changed the same
// exclusive key as a sibling, or whose change was for one revision only, are asked again
// before their call's result is stored. Actions that waited for BeforeToolExecute are run by the first
// call that comes to it. One after the other, each call is merged before the next
// one's gate is asked.
//
// # State
//
// The log holds values: turn and step records carry the patch that their hooks
// came to, results carry what their hooks and tools asked for until the round is merged.
// Folding the log calls no code of any plugin. What a tool changes is tried on the
// snapshot that its call was given, before its result is stored: what does not apply
// there is the call's error, without changes and effects. In a parallel round it is tried
// once more, on what the results that were stored before it came to (line.go): what does
// not apply there, or was for one revision only, is the call's error too. So updates count
// in the order in which their results were stored, and of two of one exclusive key the
// later. The result says its place in that order, which the merge, a takeover and a replay
// follow; those that change state are put one after the other. A result that the put of
// a lost claim brings late is tried again behind the others, and its tool does not run
// again. AfterToolExecute runs behind all of them, in call order.
//
// What a close merges of a sequential round has lacked AfterToolExecute of the calls before
// it: what does not apply without that is dropped with a log line.
//
// Effects run after the write that makes visible what they came with: commit A
// for the phases before it; for a call the write that moves it to done,
// whichever that is (a nack, the close of a cancelled run, commit B of the claim
// that adopted it); commit B for StepEnd; the close for RunEnd. A crash may lose
// them, nothing runs them twice. One that fails is logged and counted, and what it came
// with stands.
//
// # The agent
//
// A run is pinned to the agent that it begins with: its record names the hash of the
// agent's data, which is stored before the first commit (pins.Pins). Every later step
// resolves that hash, so that a run ends with the spec that it began with, whatever the
// program makes of the id today. Tools, plugins and policies are the running program's
// code. A store that fails is tried again; an agent that cannot be resolved any more
// ends the run.
//
// # The request
//
// One function makes the request of an inference, for the first call, a retry and a
// continuation alike: prompt.Request. It depends on what is read and on the draft alone. Tools and hooks change the
// request only by the built-in actions of package plugin, whose keys it reads, and by
// transforms, which come last. What the model is shown that no log holds, such as
// context messages, is made anew for each step.
//
// # Model calls
//
// A step may call its model so often over all its deliveries together as its
// agent says. Where a failed call is made again decides who goes on from what:
//
//   - In the same step, while somebody listens, the pause is short and time is
//     left. The next call goes on behind the text that was shown, whose bytes are
//     never sent again, and the turn is what both said; see package run/inference for
//     what stands of one that broke off. Its request differs from the first in two
//     messages behind the conversation, which are never stored.
//   - Else in another delivery, after a nack that stores how many calls have
//     failed. It infers anew, as after a crash, and a reader is told that what it
//     saw is void (step_restarted).
//
// Where the agent's model is a pool, a failure may be a reason to ask another member, at
// once, which goes on in the same way. Whose turn it is when a step begins
// follows from the log: each turn's record says its member and how often the thread has
// switched. The circuits of models are the process's own: a call that one
// refuses is none that has failed, and the step waits in the mailbox until it lets a
// call through.
//
// # Clocks
//
// Hooks, gates, tools and policies are shown times that are stored with what they came
// to, and ids derived from their place in the run, never the clock of the process that
// happens to run them: when the step began, when its last word was said, when a round
// began, when a result was made, when the run ended. Each goes through one function of
// choices.go, which asks [Choices] for it, as all else is asked for that no record decides.
// So a claim that
// runs the hooks of a stored record again shows them what the first one did, and a
// replay (core/internal/sim/replay) drives this code over a recorded thread and comes to the same
// records, byte for byte.
//
// # Events
//
// What a listener is told follows from records, or is live only: package run/history has
// both. An event of a record is made by one function for the live stream and for a
// [history.Replayer], and has a position that follows from the record; both say the same, but for how the
// model's words were cut. Of the state a reader is given each record's patch, at its
// place, and the whole without one: where a stream begins, and behind the step that has
// changed it. Only what [history.Visible] says is shown. Nothing is announced before the commit
// that makes it true, but the words of a turn that is being said: if its claim is lost,
// step_restarted voids them. Package run/live keeps those words until their commit for
// readers of this process. Readers in other processes leave a mark next to the head, which
// the watch reads with it; while that is valid, the words are stored, a chunk for each half
// second or 4 KB: a cache that no step reads and no head names.
//
// # How a step goes wrong
//
// A claim whose response came after its lease is refenced before anything is asked: it
// may be another's by then.
//
// Every error ends in one of four ways, which remedy and giveBack choose:
//
//   - The claim is lost: stop, without another write.
//   - The run was ended from outside (a cancel, an interrupt): close it.
//   - No second try can mend it (a permanent model error, a fatal tool, a hook
//     that failed, an agent that is gone, a record that is damaged, a turn over
//     the store's limit, a whole invocation without progress): the run fails.
//   - Everything else is given back to the mailbox by a nack. A failure and a
//     deadline are attempts, five of which dead-letter the run; a host that
//     stops, an input that was edited meanwhile and a record of a newer program
//     are not, and model calls are counted apart.
//
// A run that has a stop policy for it goes on behind a model that failed for good:
// the failure is a record where the turn would be, and a step like any other. See
// failStep in infer.go, and judge.go for what policies are shown.
//
// All ends, the natural one included, come through one door: see the comment at
// the head of end.go. An end that the store refuses as too large takes a smaller form
// (thread.Form), down to one that every store has room for.
//
// # The values of a step
//
// A Step call is a machine, which holds the others by value and leads them. Each sees only
// those before it, so that a method's receiver says what it may touch:
//
//   - holder: the claim. Where the run stands in the store (head, fence) and how the step
//     talks (events, log); it alone changes the head.
//   - base: what was read (agent, run record, conversation). Commits replace it, nothing
//     changes it.
//   - draft: what was said and changed since the last commit, which nobody else sees. A
//     commit makes records of it, and it becomes the conversation that the next draft
//     begins from.
//   - prompt: what the model is asked. It lives as long as the draft that it reads: its
//     window is decided with the first request of an inference and goes into the turn's
//     record.
//
// The model's turn (inference.Turn) knows prompt and claim as two small interfaces. The tool
// round (toolRound) writes into the draft.
//
// # The tool round
//
// Six values work on the calls of a turn, each of which names the round, and those below it
// alone that it asks:
//
//	round      the calls: how far each is, where its result is stored, who was told
//	merger     takes into the draft what a call has changed, AfterToolExecute included
//	gates      say whether a call may run: checks, decisions, gates, BeforeToolExecute
//	tickets    what calls wait for: asked of the head, told after its write
//	line       gives a call its one result, and a parallel round's results their places
//	scheduler  brings calls from one to the next, and runs their tools
//
// None knows one above it. Gates and tickets say what they have found, and the scheduler
// has it concluded; so the hooks of a call can be asked once more, by the line, when its
// result is there. What goes through several of them is toolRound's: to take over what an
// earlier claim has stored, to merge a round, to close one.
//
// # Concurrency
//
// One goroutine is the step: it alone reads and writes the machine's values and the
// round, but for what is named below. Beside it run
//
//   - the watch, which begins when a step lasts longer than two seconds: it reads the
//     head as often as that, renews the lease past two thirds and cancels the step's
//     context when the claim is lost or the run was ended. It shares three atomic facts
//     with the step (hold), and leaves each head that it reads in news, for a round to which a decision may have
//     come; heads that it writes differ from the step's own in version and lease
//     only, which the committer's loop settles;
//   - whoever else writes to the thread in this process: the committer passes each head
//     to Stepper.Moved (told.go), which does with it at once what the watch would do at
//     its next look;
//   - the function that stores event chunks, in a step whose words somebody in another
//     process waits for: it is given events under a lock of its own (live.Writer), and neither waits for the other;
//   - the tools of a round. They are given a call by value. A sequential round waits
//     for each of them; calls of any other leave what their tools come to in news,
//     and all leave there what they show meanwhile. Its mutex is the only lock between
//     them and the step; the scheduler, which is the step's goroutine, waits for that,
//     emits what was shown, stores the results and commits. Each tool runs in a
//     goroutine of its own, the only one that can outlive the step: a tool that goes on
//     for two seconds when its context has ended is left behind, and has nothing of the
//     step by then (see runTool);
//   - hooks of a phase, and BeforeToolExecute of the calls of a round that are
//     about to start, on immutable snapshots and messages; and reads of a cold
//     step that do not need each other, each into a field of its own. The step
//     waits for all of them before it does anything else.
//
// All of it goes through env.Env, so that the simulator runs one function at a
// time in an order of its own choosing. What a step writes does not depend on
// that order, but for the places of a parallel round's results: ids derive from run, step and
// call index, and of several errors the first in call order counts. Results are
// announced as they are stored; one that overtakes an earlier call has no position.
//
// # Memory
//
// What is committed of a thread is kept in memory up to a number of bytes, as an
// immutable checkpoint.Conversation per thread. Its messages are a list, of which the draft that
// goes on from it and the conversation after that share one array: a step copies what it
// adds, and not the thread. A step that finds its thread there reads
// the log behind it, usually nothing; a cold one reads its window backwards, the
// stored state (S#) and what follows it. Both ask the model the same and write
// the same bytes: S# is a cache, and the window depends on the newest messages
// only.
//
// # Where to look
//
// Begin with run.go, which has what a host gives and what a step returns, and go on with
// advance.go: the way of one step, from what it reads to commit B. The files lie in units, of
// which each uses only those before it (scripts/verify/house/testdata/units.txt):
//
//	shared    shared.go, news.go, told.go: all that others touch than the step's goroutine
//	ports     choices.go, observe.go, hear.go: what a host decides, is told and listens to;
//	          logger.go, detail.go, ended.go: log lines, and what errors say and do
//	claim     holder.go, commit.go: the head, its writes, and puts; named.go: what the head
//	          names; watch.go, lacking.go, report.go
//	hooks     hooks.go: the code of the agent's plugins
//	base      base.go, resolve.go, load.go: what was read; snapshot.go: S#
//	draft     draft.go: what was said and changed since the last commit
//	prompt    prompt.go: the model's request; context.go, window.go, prefix.go, summary.go:
//	          its parts
//	calls     call.go, calls.go: how far each call is
//	writes    turnwrite.go (commit A), stepwrite.go (commit B), waitwrite.go, closewrite.go,
//	          nackwrite.go; runrecord.go: what they have in common
//	tools     execute.go, parts.go, show.go: one run of a tool
//	round     round.go, result.go, adopt.go, through.go, effects.go; then, one on the other,
//	          merge.go and recall.go, gate.go and resume.go, suspend.go and tickets.go,
//	          line.go, lineup.go and conclude.go, schedule.go and running.go, toolround.go
//	machine   machine.go, save.go, committed.go; account.go, announce.go, failedactions.go:
//	          whom a step tells what
//	policies  judge.go, answer.go: whether the run goes on
//	input     input.go, supersede.go: what people said, and what that takes back
//	ends      end.go: the table of all ends; forms.go, runend.go, giveback.go
//	way       guard.go: Step, and what becomes of an error; advance.go, infer.go, tools.go,
//	          finish.go
//
// What is a run's clock, and where is it read? choices.go, and the field at of draft.
//
// What is read, and when? load in load.go, by package run/checkpoint, which folds the log
// and keeps what it has read in memory.
//
// Where does a stream get the state that it begins with? announceFound in announce.go for
// the reader of a live step, checkpoint.Reader.StateAt for one that follows.
//
// How do other readers see a turn that is being said? A live.Writer keeps its events for
// those of this process; for those of others, who ask by a live.Mark, it stores them as
// event chunks beside the inference; package runtime reads them
// (core/host/unsaid.go), as long as the head says that their claim infers.
//
// Where does a delta get its position, which is its SSE id? inference/speech.go knows the block
// and the byte at which it ends (say, emit), and history.Emitter makes
// a position.Position of them, for a history.Replayer as well. The encoder
// of package adapters/protocols/httpapi writes it as the frame's id; AI SDK's frames have none.
//
// What happens when a tool panics? toolrun.Execute in core/internal/toolrun/execute.go makes an
// error result of it, whose text does not quote the panic. It runs in a goroutine
// of its own (runTool in execute.go); toolReturned in running.go logs the stack, and
// line.conclude in conclude.go keeps the result like any other.
//
// How does a client see what a tool shows while it runs? show.go: through news to the
// scheduler's wait (await in running.go, awaitTool in execute.go), which emits it. What
// is held back or dropped is decided in core/internal/show, by its Live.
//
// Where is it decided that a run waits? runRound in tools.go: a call of the
// round is open when the scheduler has nothing left to start or to wait for
// (parallel and ready in schedule.go). commitWait beside it proposes it, and
// Head.outcome in core/internal/thread/outcome.go has the last word.
//
// Who decides that a run has gone on long enough? judge in judge.go, which asks max_rounds
// and then the policies of the agent and of the program. Its comment says when.
//
// What does a cancelled run write? The comment at the head of end.go says it, for
// each end; Cancel in core/internal/thread/control.go begins it, and CommitClose in
// core/internal/thread/closing.go is the head's last word.
//
// What happens to a step that fails? remedy in guard.go chooses, and giveBack in giveback.go gives the claim back;
// ended.go says which errors end the run, and inference/retry.go when a model is called
// again. What is left of a step that crashed is found in adopt.go.
package run
