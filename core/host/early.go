package host

import (
	"context"
	"iter"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Two things are visible before the log has them: a result whose call the head marks done,
// at its reserved sequence after the head's (openresults.go), and accepted input, in a
// record that the head names (pending.go). Both are read only because the head vouches for
// them: other records in those places may be remains of a refused write.

// sized is a message with the bytes that it counts on a page.
type sized struct {
	core.Message
	size int
}

// earlyMessages yields the messages after a sequence that are visible before the log has
// them: results in call order, then input in order of arrival, which is roughly the order
// that the log will have. A result's sequence is reserved; that of input is unknown until
// a step reads it. An error is the last that it yields.
func (r *reader) earlyMessages(ctx context.Context, key core.ThreadKey, head thread.Head, after uint64) iter.Seq2[sized, error] {
	return func(yield func(sized, error) bool) {
		for result, err := range r.openResults(ctx, key, head) {
			if err != nil {
				yield(sized{}, err)
				return
			}
			if head.Run.Base+uint64(result.call) > after && !yield(sized{messageOf(&result.entry), result.size}, nil) {
				return
			}
		}
		for m, err := range r.pending(ctx, key, head) {
			if !yield(m, err) {
				return
			}
		}
	}
}
