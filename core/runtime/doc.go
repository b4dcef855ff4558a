// Package runtime wires the core together: [Build] makes a [Runtime] of a store,
// a queue and agents, and its methods are what handlers call.
//
// [Runtime.Submit] queues a run for workers, each of which handles a wake-up by
// [Runtime.Work]. [Runtime.Stream] runs inline and shows the events as they
// happen, [Runtime.Follow] shows any run from its commits. [Runtime.Sweep], every
// minute, finds what nobody woke. Reads ask for an identity and answer not_found
// for what belongs to somebody else.
package runtime
