package thread

// mostStock bounds how many values of a type are in one piece of memory: what keeps one of
// them keeps them all.
const mostStock = 32

// stock has values of a type that were allocated together. A log that is read is mostly kept
// as a whole, and not much more than it needs.
type stock[T any] struct {
	values []T
	taken  int
}

// take returns a list of one value, without capacity after it.
func (s *stock[T]) take() []T {
	if len(s.values) == 0 {
		s.values = make([]T, min(1+s.taken/8, mostStock))
	}
	first := s.values[:1:1]
	s.values = s.values[1:]
	s.taken++
	return first
}

func (s *stock[T]) one() *T { return &s.take()[0] }
