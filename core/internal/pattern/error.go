package pattern

import (
	"fmt"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// MaxLength is the longest pattern, in bytes, both as it is written and in its
// canonical form.
const MaxLength = 1 << 10

// MaxRegex is the largest regular expression, in instructions of its compiled
// program: about one a character, so that any literal text fits, times the
// repetitions. The time of a search grows with it: [ab]{900} is short, and takes
// seconds for arguments of 256 KB.
const MaxRegex = 1100

// The errors of the limits. Errors of [Parse] wrap them and name the pattern.
var (
	// ErrTooLong is returned for a pattern of more than [MaxLength] bytes.
	ErrTooLong = core.Errorf(core.CodeTooLarge, "pattern is longer than %d bytes", MaxLength)
	// ErrRegexTooLarge is returned for a regular expression larger than [MaxRegex].
	ErrRegexTooLarge = core.Errorf(core.CodeTooLarge, "regular expression compiles to more than %d instructions", MaxRegex)
)

// SyntaxError names the place where a pattern is wrong and what is allowed there. The
// errors of [Parse] wrap one, unless a limit is exceeded; their code is invalid.
type SyntaxError struct {
	Pattern string // as it was given to Parse
	Offset  int    // of the byte that is wrong, from 0; len(Pattern): something is missing at the end
	Message string // what is wrong
}

// Error implements error. A long pattern is shown in part, around the place.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("pattern %q at byte %d: %s", around(e.Pattern, e.Offset), e.Offset, e.Message)
}

// around returns what an error shows of a text: all of it, or the part with the
// byte at offset.
func around(text string, offset int) string {
	const before = 32
	if len(text) <= 64 || offset < before {
		return core.Excerpt(text)
	}
	from := min(offset-before, len(text)-60)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return "..." + core.Excerpt(text[from:])
}

// fault is what is wrong with a part of a pattern, at a byte of that part.
type fault struct {
	offset  int
	message string
	limit   error // the sentinel where a limit is exceeded, else nil
}

func faultf(offset int, format string, args ...any) *fault {
	return &fault{offset: offset, message: fmt.Sprintf(format, args...)}
}

// in returns the fault as the error of a whole pattern in which its part begins at
// a byte.
func (f *fault) in(pattern string, begin int) error {
	if f.limit != nil {
		return core.Errorf(core.CodeOf(f.limit), "pattern %q at byte %d: %w", around(pattern, begin+f.offset), begin+f.offset, f.limit)
	}
	return core.Errorf(core.CodeInvalid, "%w", &SyntaxError{Pattern: pattern, Offset: begin + f.offset, Message: f.message})
}

// shift moves a fault of a part to its place in the whole; nil stays nil.
func (f *fault) shift(by int) *fault {
	if f != nil {
		f.offset += by
	}
	return f
}
