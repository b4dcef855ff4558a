package history

import (
	"strconv"

	"github.com/reveille-run/reveille/core"
)

// Ids within a run derive from the place in the run and are not random numbers: a
// claim that repeats a step after a crash makes the same ones, and the order in
// which calls complete never shows in them. They are in logs, so that they must not
// change.

// TurnID is the id of the message that holds the turn of a step, which counts from
// 1. A run that has not started a step has the id of step 0 to derive others from.
func TurnID(run core.ID, step int) string {
	var room [64]byte
	return string(strconv.AppendInt(append(run.AppendTo(room[:0]), '.'), int64(step), 10))
}

// CallID is the id of a tool call whose model gave it none, or one that was taken. index
// is the number of the call in the turn, from 0, with those that were dropped.
func CallID(run core.ID, step, index int) string {
	var room, text [64]byte
	b := append(append(room[:0], "call_"...), run.AppendTo(text[:0])[24:]...)
	b = strconv.AppendInt(append(b, '_'), int64(step), 10)
	return string(strconv.AppendInt(append(b, '_'), int64(index), 10))
}

// ResultID is the id of the message that holds the result of a call, by the call's
// index in the turn of a step, from 0. It identifies the results that earlier
// claims stored of a round: no other turn's result has the same.
func ResultID(run core.ID, step, index int) string {
	var room [80]byte
	b := strconv.AppendInt(append(run.AppendTo(room[:0]), '.'), int64(step), 10)
	return string(strconv.AppendInt(append(b, '.'), int64(index), 10))
}
