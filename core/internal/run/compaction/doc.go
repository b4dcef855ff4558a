// Package compaction makes summaries of threads: a summary stands for the messages of a
// thread up to a closed turn. Who makes it and who uses it need not know of each other:
//
//   - A step over the agent's threshold names the turn, its target, in the record of its
//     own turn (core.Window.Compact), and asks for the summary after the commit.
//   - Whoever gets that hint makes the summary and puts it, once (Z#<target>), see
//     [Maker.Compact]. It holds no claim: the run goes on at the same time, and two that
//     make one do no harm, since the record of the first stays. A hint that is lost costs
//     the summary, until a later step names another target.
//   - The steps that follow look for the record, one read each. The first that finds it
//     begins with it, and its commit puts it in force: the head names it then, and every
//     later reader begins with it.
//
// With inline compaction the step does all three by itself, before its inference, see
// [Maker.Inline].
//
// What is in force is the head's to say, and only a commit that takes back a part of what
// the summary covers makes it fall: to its newest predecessor that ends before that. A
// record that was made after another predecessor than the one in force is stale. Targets
// are in turn records, so that the target of a turn that was taken back is gone with it.
//
// The package decides nothing about a run: it reads the log and puts one record. What it
// asks of a model is charged to the tenant, to no run's slot.
package compaction
