// Package cutturn is how a model is asked to go on from a turn that was cut off.
package cutturn

import "github.com/reveille-run/reveille/core"

// Note is the last message of a request that goes on from a turn
// that a failure has cut off; the message before it is what was said of that
// turn. It goes to the model only and is never stored.
const Note = "[A failure of the connection cut your answer off here. Go on from the last character that you wrote: repeat nothing, and say nothing about the failure.]"

// LimitNote is the last message of a request that goes on from a turn that has
// reached the limit of its tokens, in the place of [Note].
const LimitNote = "[Your answer has reached the limit of its length here. Go on from the last character that you wrote, in smaller pieces: repeat nothing, and say nothing about the limit.]"

// Continued returns the messages of a request without the two that ask to go on
// from a cut turn, and what was said of that turn, never empty. When there
// are none, it returns all messages and an empty text.
func Continued(messages []core.Message) (before []core.Message, said string) {
	n := len(messages)
	for n > 0 && messages[n-1].Role == core.RoleSystem { // plugins' context comes last
		n--
	}
	if n < 2 || messages[n-1].Role != core.RoleUser || !isNote(messages[n-1].Text()) || messages[n-2].Role != core.RoleAssistant {
		return messages, ""
	}
	return messages[:n-2], messages[n-2].Text()
}

func isNote(text string) bool { return text == Note || text == LimitNote }
