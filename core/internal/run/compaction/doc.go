// Package compaction makes summaries of threads: a summary replaces the messages of
// a thread up to a closed turn. Its maker and its users need not know of each
// other:
//
//   - A step over the agent's threshold names the turn, its target, in the record
//     of its own turn (core.Window.Compact), and asks for the summary after the
//     commit.
//   - The worker that gets that hint makes the summary and puts it, once
//     (Z#<target>), see [Maker.Compact]. It holds no claim: the run continues at
//     the same time. Two workers that make one do no harm, since the record of the
//     first stays. A hint that is lost costs the summary, until a later step names
//     another target.
//   - The steps that follow look for the record, one read each. The first that
//     finds it starts with it, and its commit puts it in force: the head names it
//     then, and every later reader starts with it.
//
// With inline compaction the step does all three by itself, before its inference,
// see [Maker.Inline].
//
// The head decides which summary is in force. Only a commit that supersedes a part
// of the covered messages removes it: in favour of its newest predecessor that ends
// before that. A record that was made after another predecessor than the one in
// force is stale. Targets are in turn records, so that the target of a superseded
// turn is gone with it.
//
// The package decides nothing about a run: it reads the log and puts one record.
// Its calls of a model are charged to the tenant, to no run's slot.
package compaction
