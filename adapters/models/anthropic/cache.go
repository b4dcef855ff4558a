package anthropic

import "slices"

// ephemeral is the mark: what stands before it, and the block that it is on, is kept.
var ephemeral = &cacheControl{Type: "ephemeral"}

// mark sets the marks for the prompt cache, of which there may be four: on the last tool,
// on the agent's system prompt, and on the ends of the last two messages of the user's
// side. The later one of those writes what the next request reads; the earlier one is where
// the request before this one wrote: a look back from the later one alone ends after 20
// blocks, and a round of 32 calls is longer. Context that may be gone in the next request
// stands behind the marks.
func (w *messagesRequest) mark() {
	if n := len(w.Tools); n > 0 {
		w.Tools[n-1].Cache = ephemeral
	}
	if len(w.System) > 0 {
		w.System[0].Cache = ephemeral
	}
	left := 2
	for _, m := range slices.Backward(w.Messages) {
		if m.Role != roleUser {
			continue
		}
		if markLast(m.Content) {
			left--
		}
		if left == 0 {
			return
		}
	}
}

// markLast marks the last block that stays.
func markLast(content []any) bool {
	for _, c := range slices.Backward(content) {
		if b, ok := c.(*block); ok && !b.volatile {
			b.Cache = ephemeral
			return true
		}
	}
	return false
}
