package newest

import (
	"io"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// List describes the list of a request that repeats a conversation.
type List struct {
	Name string // the member of the object, such as "messages"
	// Known are the roles of messages that the thread already has, such as "assistant". A
	// message before the last message with such a role is not new, and can be skipped.
	Known []string
}

// Limits bound what [Read] keeps and reads.
type Limits struct {
	// Recent is how many bytes of messages that can be skipped are kept nevertheless, the
	// newest ones.
	Recent int
	// Kept is the most bytes of the returned object. More is a [core.CodeTooLarge] error.
	Kept int
	// Read is the most bytes that are read. More is a [core.CodeTooLarge] error.
	Read int64
	// Depth is how deep lists and objects nest at most, the outermost counted: 1 to 64.
	Depth int
}

// MaxNew is the most messages after the last one with a role of [List.Known]. More is a
// [core.CodeTooLarge] error.
const MaxNew = 1000

// chunk is how many bytes are read at a time.
const chunk = 32 << 10

// Read reads a JSON object to its end. It returns the object without the messages that it
// skipped, and their number. Text that is not JSON, or not UTF-8, is a [core.CodeInvalid]
// error that names the byte. Errors of r are returned as they are. If the list or its
// members have unusual forms, such as a role with escapes, nothing is skipped for them.
//
// It allocates at most five times Limits.Kept, and holds at most twice that much at a time.
func Read(r io.Reader, list List, limits Limits) (body []byte, skipped int, err error) {
	k := &keeper{list: list, limits: limits}
	k.window.most = limits.Kept
	k.window.buffer = make([]byte, 0, min(4*limits.Recent, limits.Kept)) // grows only for messages that are new or large
	k.scan = scanner{most: limits.Depth, on: k}
	buffer := make([]byte, chunk)
	var before [utf8.UTFMax]byte // the start of a character that the last chunk has cut
	cut, read := 0, int64(0)
	for {
		n := copy(buffer, before[:cut])
		got, err := r.Read(buffer[n:])
		n += got
		if read += int64(got); read > limits.Read {
			return nil, 0, core.Errorf(core.CodeTooLarge, "request body is larger than %d bytes, with the messages that are skipped: send only the newest messages", limits.Read)
		}
		whole := n
		if err == nil {
			whole -= partial(buffer[:n])
		}
		valid := whole
		if !utf8.Valid(buffer[:whole]) {
			valid = invalidAt(buffer[:whole])
		}
		if err := k.scan.push(buffer[:valid]); err != nil {
			return nil, 0, err
		}
		if valid < whole {
			return nil, 0, core.Errorf(core.CodeInvalid, "body is not UTF-8 at byte %d", k.scan.read)
		}
		cut = copy(before[:], buffer[whole:n])
		if err == io.EOF {
			return k.finish()
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// partial returns how many bytes at the end of a text are the start of a character.
func partial(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// invalidAt is the place of the first byte that is not UTF-8.
func invalidAt(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return len(text)
}
