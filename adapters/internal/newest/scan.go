package newest

import "github.com/reveille-run/reveille/core"

// state is what may come next in a JSON text.
type state uint8

const (
	wantValue  state = iota
	wantItem         // a value, or the end of a list without one before it
	wantName         // the name of a member
	wantMember       // such a name, or the end of an object without one before it
	wantColon
	wantMore // a comma, or the end of the list or object
	wantEnd  // no more than spaces
	inString
	inEscape
	inHex
	inWord // true, false or null
	inNumber
)

// listener learns where the parts of a text are. The depth of a part is the number of
// lists and objects around it.
type listener interface {
	// text receives the bytes of the text, in order.
	text([]byte) error
	// begin is called before the first byte of a value, and end after its last one, both up
	// to the depth deepest.
	begin(depth int, first byte) error
	end(depth int) error
	// name is called after the name of a member, and word after a string that is a value,
	// up to the depth deepest+1. raw is the string as it is written, and has its first
	// longWord bytes only.
	name(depth int, raw []byte)
	word(depth int, raw []byte)
}

const (
	deepest  = 2
	longWord = 32 // "role" has up to 24, if it is written in escapes
)

// scanner checks a JSON text that arrives in pieces.
type scanner struct {
	on     listener
	most   int // how deep lists and objects nest
	read   int64
	open   [64]byte // the opening brackets
	depth  int
	state  state
	naming bool // the string is a name
	left   int  // digits of an escape that are still to come
	rest   string
	number number
	short  [longWord]byte // the start of the string
	size   int            // of short
}

// push scans the next piece of a text.
func (s *scanner) push(piece []byte) error {
	told := 0 // bytes of the piece that the listener has
	for i := 0; i < len(piece); i++ {
		if s.state == inString {
			n := plain(piece[i:])
			s.remember(piece[i : i+n])
			if i += n; i == len(piece) {
				break
			}
		}
		c := piece[i]
		if s.state == inNumber && !s.number.next(c) {
			if !s.number.whole() {
				return s.wrong(i, c)
			}
			if err := s.finish(piece, &told, i); err != nil {
				return err
			}
		}
		if s.begins(c) && s.depth <= deepest {
			if err := s.tell(piece, &told, i); err != nil {
				return err
			}
			if err := s.on.begin(s.depth, c); err != nil {
				return err
			}
		}
		if c == '"' && s.state == inString && s.depth <= deepest+1 {
			// What the listener does with the text before a role does not depend on the pieces.
			if err := s.tell(piece, &told, i); err != nil {
				return err
			}
		}
		ended, ok := s.step(c)
		if !ok {
			return s.wrong(i, c)
		}
		if s.depth > s.most {
			return core.Errorf(core.CodeInvalid, "body is nested more than %d deep at byte %d", s.most, s.read+int64(i)+1)
		}
		if ended {
			if err := s.finish(piece, &told, i+1); err != nil {
				return err
			}
		}
	}
	if err := s.tell(piece, &told, len(piece)); err != nil {
		return err
	}
	s.read += int64(len(piece))
	return nil
}

// complete scans the end of the text.
func (s *scanner) complete() error {
	if s.state == inNumber && s.depth == 0 && s.number.whole() {
		s.state = wantEnd
	}
	if s.state != wantEnd {
		return core.Errorf(core.CodeInvalid, "body is not JSON at byte %d: it ends too early", s.read+1)
	}
	return nil
}

// tell passes the bytes up to an index to the listener.
func (s *scanner) tell(piece []byte, told *int, to int) error {
	from := *told
	*told = to
	if from == to {
		return nil
	}
	return s.on.text(piece[from:to])
}

// finish ends a value whose last byte is before an index.
func (s *scanner) finish(piece []byte, told *int, to int) error {
	s.state = wantMore
	if s.depth == 0 {
		s.state = wantEnd
	}
	if s.depth > deepest {
		return nil
	}
	if err := s.tell(piece, told, to); err != nil {
		return err
	}
	return s.on.end(s.depth)
}

func (s *scanner) wrong(i int, c byte) error {
	return core.Errorf(core.CodeInvalid, "body is not JSON at byte %d: unexpected %q", s.read+int64(i)+1, rune(c))
}

// begins reports whether a byte is the first one of a value.
func (s *scanner) begins(c byte) bool {
	return (s.state == wantValue || s.state == wantItem) && c != ']' && !space(c)
}

// step scans a byte that is not of a number. ended reports that a value ends with it; ok
// is false if it may not come here.
func (s *scanner) step(c byte) (ended, ok bool) {
	switch s.state {
	case inString:
		return s.inText(c)
	case inEscape, inHex:
		return false, s.escape(c)
	case inWord:
		if c != s.rest[0] {
			return false, false
		}
		s.rest = s.rest[1:]
		return s.rest == "", true
	case inNumber: // next has accepted it
		return false, true
	}
	if space(c) {
		return false, true
	}
	switch s.state {
	case wantValue, wantItem:
		if c == ']' && s.state == wantItem {
			return s.shut(), true
		}
		return false, s.value(c)
	case wantName, wantMember:
		if c == '}' && s.state == wantMember {
			return s.shut(), true
		}
		s.state, s.naming, s.size = inString, true, 0
		return false, c == '"'
	case wantColon:
		s.state = wantValue
		return false, c == ':'
	case wantMore:
		return s.more(c)
	}
	return false, false
}

// value scans the first byte of a value.
func (s *scanner) value(c byte) bool {
	switch c {
	case '{', '[':
		if s.depth < len(s.open) {
			s.open[s.depth] = c
		}
		s.depth++ // push refuses what is too deep
		s.state = wantMember
		if c == '[' {
			s.state = wantItem
		}
	case '"':
		s.state, s.naming, s.size = inString, false, 0
	case 't', 'f', 'n':
		s.state, s.rest = inWord, map[byte]string{'t': "rue", 'f': "alse", 'n': "ull"}[c]
	default:
		s.state, s.number = inNumber, numberStart
		return s.number.next(c)
	}
	return true
}

// more scans what comes after a member or an item.
func (s *scanner) more(c byte) (ended, ok bool) {
	list := s.open[s.depth-1] == '['
	switch {
	case c == ',' && list:
		s.state = wantValue
	case c == ',':
		s.state = wantName
	case c == ']' && list, c == '}' && !list:
		return s.shut(), true
	default:
		return false, false
	}
	return false, true
}

// shut closes a list or object.
func (s *scanner) shut() bool {
	s.depth--
	return true
}

// inText scans the byte of a string that [plain] does not skip.
func (s *scanner) inText(c byte) (ended, ok bool) {
	switch {
	case c == '\\':
		s.remember([]byte{c})
		s.state = inEscape
		return false, true
	case c != '"':
		return false, false // a control character
	case s.naming:
		s.state = wantColon
		if s.depth <= deepest+1 {
			s.on.name(s.depth, s.short[:s.size])
		}
		return false, true
	}
	if s.depth <= deepest+1 {
		s.on.word(s.depth, s.short[:s.size])
	}
	return true, true
}

// escape scans a byte after a backslash.
func (s *scanner) escape(c byte) bool {
	s.remember([]byte{c})
	if s.state == inHex {
		if s.left--; s.left == 0 {
			s.state = inString
		}
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	}
	s.state = inString
	switch c {
	case 'u':
		s.state, s.left = inHex, 4
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	default:
		return false
	}
	return true
}

// remember keeps the start of a string.
func (s *scanner) remember(raw []byte) { s.size += copy(s.short[s.size:], raw) }

// plain returns how many bytes at the start of a text are of a string and need no look.
func plain(text []byte) int {
	for i, c := range text {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(text)
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
