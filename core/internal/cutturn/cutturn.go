// Package cutturn asks a model to continue a turn that was cut off.
package cutturn

import "github.com/reveille-run/reveille/core"

// Note is the last message of a request that continues a turn that a failure has cut off;
// the message before it is the existing part of that turn. It goes to the model only and is
// never stored.
const Note = "[A failure of the connection cut your answer off here. Go on from the last character that you wrote: repeat nothing, and say nothing about the failure.]"

// LimitNote is the last message of a request that continues a turn that has reached the
// limit of its tokens, in the place of [Note].
const LimitNote = "[Your answer has reached the limit of its length here. Go on from the last character that you wrote, in smaller pieces: repeat nothing, and say nothing about the limit.]"

// Continued returns the messages of a request without the two that ask for the rest of a
// cut turn, and the existing part of that turn, never empty. Without those two, it returns
// all messages and an empty text.
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
