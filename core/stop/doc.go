// Package stop decides when a run has gone on long enough.
//
// A [Policy] looks at each step of a run and may end the run, with a code that
// clients read in the run's termination. Policies come from four places and are
// asked in this order; the first one that stops counts:
//
//  1. max_rounds of the agent's spec, 16 when it says nothing;
//  2. the list stop of the spec, as data: [Spec];
//  3. Stops of agent.Parts, for all agents of a registry;
//  4. Stops of runtime.Config, for all runs of a program.
//
// # When a policy is asked
//
//   - When a turn of the model is committed, and before any of its tools runs. A
//     stop gives each of its calls a result that says that it was not executed.
//   - Once more when all calls of the turn have failed, with the failed step
//     counted in [View.ErrorSteps].
//   - When a turn has no calls, before the run comes to its natural end.
//   - When the model has failed for good in a step, in a run that tolerates this:
//     see [ConsecutiveErrors]. Then there is no turn, and [View.Failed] says why.
//
// A turn without calls is an answer: the run ends by itself. A limit has nothing to
// add to that, and an answer that came a second too late is an answer. So
// [MaxRounds], [Timeout], [TokenBudget], [StopOnTool] and [ConsecutiveErrors] never
// stop at one; while people go on to speak to the run, it answers. [ContentMatch]
// and [LoopDetection] judge what is said, and do stop there: the run then ends as
// stopped and not by itself, and input that it has not read yet becomes a run of
// its own. A policy of one's own does as it likes: [View.GoesOn] tells the two
// apart.
//
// # What a policy sees
//
// A [View] is made of what is stored: the run's record, the totals in its newest
// turn, and the messages in the window. Its clock is the turn's own time. Another
// process that takes the turn over, a minute or a week later, asks again and has
// to come to the same, so a policy reads no clock, keeps no state and
// asks nobody else. It is called from several runs at once.
//
// The policies here that look at more than the turn get it from the totals alone,
// which a run of any length has. [View.Turns] reaches only as far as the context
// window does.
//
// # A policy of one's own
//
// Any function of a view is one, by [Func]; [Stop] makes the termination. A panic
// ends the run with the error stop_policy, and only that run.
package stop
