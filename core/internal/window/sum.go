package window

// Sum is the estimated cost of the messages that a window shows, as far as a thread's
// requests have needed it. A request adds the messages that came since the one before: a
// long thread is not measured again with each step. The zero Sum knows nothing.
//
// Messages that a window shows stay what they are, and leave it from its end, which has
// the sequence upTo, or from its beginning, which has the sequence from. So a Sum notices
// by itself that it is one of other messages, and starts again.
type Sum struct {
	from, upTo uint64 // sequences of the first and the newest message in it; 0: none is
	short      uint64 // results before it are references
	messages   int32
	perByte    int32
	tokens     int
}

// of returns the cost of a whole history in a request.
func (s *Sum) of(r *Request, short uint64) int {
	n, perByte := len(r.History.Messages), int32(r.perByte())
	if !s.continues(&r.History, short, perByte) {
		*s = Sum{short: short, perByte: perByte}
	}
	for ; int(s.messages) < n; s.messages++ {
		s.tokens += r.costOf(int(s.messages), short)
	}
	if n > 0 {
		s.from, s.upTo = r.History.sequence(0), r.History.sequence(n-1)
	}
	return s.tokens
}

// continues reports whether a history begins with the messages of the sum.
func (s *Sum) continues(h *History, short uint64, perByte int32) bool {
	n := int(s.messages)
	return n > 0 && n <= len(h.Messages) && s.short == short && s.perByte == perByte &&
		h.sequence(0) == s.from && h.sequence(n-1) == s.upTo
}
