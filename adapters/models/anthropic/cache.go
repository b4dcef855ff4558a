package anthropic

import "slices"

// ephemeral is the cache mark: everything up to and including its block is cached.
var ephemeral = &cacheControl{Type: "ephemeral"}

// mark sets the marks for the prompt cache, at most four: on the last tool, on the
// agent's system prompt, and on the ends of the last two messages of the user's side. The
// later of these two marks writes what the next request reads. The earlier one is where
// the previous request wrote: the provider looks back at most 20 blocks from a mark, and
// a round of 32 calls has more. Context that may be absent in the next request comes
// after the marks.
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
