// Package recordname has the names of the records around a HEAD that backends need not
// know of. Which kind a name is of is package store's.
package recordname

import (
	"fmt"
	"strconv"

	"github.com/reveille-run/reveille/core"
)

// Summary names the summary of a log up to a sequence, that of a closed turn.
func Summary(upTo uint64) string { return "Z#" + strconv.FormatUint(upTo, 10) }

// Prompt names what a model was told that mostly stays the same, by its hash: a
// [thread.PromptRecord].
func Prompt(hash string) string { return "P#" + hash }

// Outbox names whom an outbox entry is for and what it says: a [thread.OutboxRecord].
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

// Read names the record that says where an inbox entry was read; the log
// confirms it.
func Read(id core.ID) string { return idName("A#", id, "#read") }

// Ended names the record that says how a dispatch or inbox entry ended that
// no step read. It counts when the head has passed its version and lists the id
// no more.
func Ended(id core.ID) string { return idName("A#", id, "#ended") }

// Activity names the record that lists a thread, see store.ActivityName.
const Activity = "L#"

// Listing names the record that lists a run.
func Listing(run core.ID) string { return idName(Activity, run, "") }

// About names what people and programs have said about a thread: its title and
// metadata.
const About = "T#"

// Snapshot names the manifest of a thread's state snapshot, see store.SnapshotName.
const Snapshot = "S#"

// SnapshotValue names one value of the state snapshot.
func SnapshotValue(path string) string { return Snapshot + path }

// Round names the record of an open tool round that waits, by the version
// of the head that puts it in force.
func Round(run core.ID, version uint64) string { return fmt.Sprintf("C#%s#round#%d", run, version) }

// End names the record of what RunEnd has changed in a closing run whose claim was
// given back behind it, by the version of the head that puts it in force.
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
