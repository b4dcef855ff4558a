// Package recordname has the names of the records around a HEAD that backends need not
// know of. Which kind a name is of is package store's.
package recordname

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Summary names the summary of a log up to a sequence, that of a closed turn.
func Summary(upTo uint64) string { return "Z#" + strconv.FormatUint(upTo, 10) }

// Prompt names the stable part of a model's request, by its hash: a [thread.PromptRecord].
func Prompt(hash string) string { return "P#" + hash }

// Outbox names the receiver and content of an outbox entry: a [thread.OutboxRecord].
func Outbox(id core.ID) string { return idName("O#", id, "") }

// Input names the queued input of a dispatch, or one revision of an inbox
// entry's text.
func Input(id core.ID, revision uint32) string {
	var room [64]byte
	b := append(id.AppendTo(append(room[:0], "Q#"...)), '#')
	return string(strconv.AppendUint(b, uint64(revision), 10))
}

// Decision names a decision about a call of the turn at a sequence, by the
// hash of its id that the head holds.
func Decision(run core.ID, turn uint64, call uint8, decision uint64) string {
	return fmt.Sprintf("D#%s#%d#%d#%016x", run, turn, call, decision)
}

// Decisions begins the names of the decisions on a call.
func Decisions(run core.ID, turn uint64, call uint8) string {
	return fmt.Sprintf("D#%s#%d#%d#", run, turn, call)
}

// Read names the record of where an inbox entry was read; the log confirms it.
func Read(id core.ID) string { return idName("A#", id, "#read") }

// Ended names the record of how a dispatch or inbox entry ended that no step read. It
// counts when the head has passed its version and no longer lists the id.
func Ended(id core.ID) string { return idName("A#", id, "#ended") }

// Activity names the record that lists a thread, by its last activity; with a run's id
// after it it is the one that lists the run. Their payloads are [thread.Listing]s, and
// backends keep an index of them: see store.Backend.
const Activity = "L#"

// Run names a run record.
func Run(run core.ID) string { return idName("R#", run, "") }

// Listing names the record that lists a run.
func Listing(run core.ID) string { return idName(Activity, run, "") }

// FailedMessages begins the names of the notes of messages that were given up.
const FailedMessages = Activity + "failed#"

// Failed names the note of a message that was given up: a [thread.FailedMessage].
func Failed(message core.ID) string { return idName(FailedMessages, message, "") }

// About names what people and programs have said about a thread: its title and
// metadata.
const About = "T#"

// Snapshot names the manifest of a thread's state snapshot; with a scoped path after it,
// one value of it.
const Snapshot = "S#"

// SnapshotValue names one value of the state snapshot.
func SnapshotValue(path string) string { return Snapshot + path }

// Chunks begins the names of the event chunks of an attempt at a step: what the model says
// under a fence, before it is committed.
func Chunks(run core.ID, step int, fence uint64) string {
	return fmt.Sprintf("E#%s#%d#%d#", run, step, fence)
}

// Chunk names the n-th chunk, from 0, after its prefix. The names of an attempt are in the
// order of their numbers.
func Chunk(prefix string, n int) string { return fmt.Sprintf("%s%06d", prefix, n) }

// Follow names the follow mark: until when another process than the holder's follows the
// open run. It is read as lists are, which may lag, and nothing but a delay may depend on
// it.
const Follow = "F#"

// Usage names the record of a run's stretch, which lies outside of the thread.
func Usage(run core.ID, stretch uint64) string {
	const zeros = "000000"
	var room [64]byte
	var number [20]byte
	digits := strconv.AppendUint(number[:0], stretch, 10)
	b := append(run.AppendTo(append(room[:0], "U#"...)), '#')
	return string(append(append(b, zeros[min(len(digits), len(zeros)):]...), digits...))
}

const wastedPart = "#wasted#"

// Wasted names the record of a stretch's calls of models for turns that had no outcome, by
// the version of the head that puts it in force. It lies in the thread.
func Wasted(run core.ID, version uint64) string {
	return fmt.Sprintf("C#%s%s%d", run, wastedPart, version)
}

// IsWasted reports whether a name is the one that Wasted makes. Every record that is
// written is checked, and no name is made for the others.
func IsWasted(name string, run core.ID, version uint64) bool {
	return strings.Contains(name, wastedPart) && name == Wasted(run, version)
}

// Round names the record of an open tool round that waits, by the version
// of the head that puts it in force.
func Round(run core.ID, version uint64) string { return fmt.Sprintf("C#%s#round#%d", run, version) }

// End names the record of the changes of RunEnd in a closing run whose claim was released
// after it, by the version of the head that puts it in force.
func End(run core.ID, version uint64) string { return fmt.Sprintf("C#%s#end#%d", run, version) }

// Suspension names what a suspended call waits with, by the hash of the
// suspension's id that the head holds.
func Suspension(run core.ID, turn uint64, call uint8, ticket uint64) string {
	return fmt.Sprintf("C#%s#%d#%d#%016x", run, turn, call, ticket)
}

// Part names the stored result of a part of a tool call.
func Part(run core.ID, turn uint64, call uint8, part string) string {
	return fmt.Sprintf("C#%s#%d#%d#once#%s", run, turn, call, part)
}

// idName puts an id between two texts. Such names are made for every step.
func idName(before string, id core.ID, behind string) string {
	var room [64]byte
	return string(append(id.AppendTo(append(room[:0], before...)), behind...))
}
