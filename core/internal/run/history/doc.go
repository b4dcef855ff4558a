// Package history makes the events of a run. It is the one place where the records
// of a thread's log become events, and where an event gets its position. So a
// client that listens while a step works and one that comes later see the same
// stream.
//
//   - [TurnID], [CallID] and [ResultID] derive ids from the place of a message in
//     its run.
//   - [Emitter] passes the events of one claim to a [Sink] while they happen, and
//     to a [Tap], which keeps the model's words before they are committed.
//   - [Replayer] makes the events of a run again, from its committed records.
//   - [Visible] and [Shown] define the part of a thread's state that clients see.
//
// Nothing here reads a store, a clock or an agent: records and values come in,
// events go out. Two rules hold:
//
//   - The content of an event follows from the record that holds it. A live stream
//     and a replay call the same function for it; only the cuts of a model's words
//     differ.
//   - A position follows from the place in the record, see position.Position. So a
//     client that has a part of a stream, live or replayed, resumes after it in the
//     other.
package history
