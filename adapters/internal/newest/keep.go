package newest

import (
	"bytes"
	"net/http"

	"github.com/reveille-run/reveille/core"
)

// keeper collects what is kept of a text.
type keeper struct {
	list    List
	limits  Limits
	scan    scanner
	out     []byte // the text without the list that is being read
	skipped int

	named    bool // the last member's name is List.Name
	inList   bool
	inside   bool // a message
	roleNext bool // the next string is its role
	known    bool // its role is one of List.Known
	odd      bool // its role may be written in a way that only a decoder reads
	settled  bool // the window knows that it is known
	message  message
	window   window
}

// text implements listener.
func (k *keeper) text(piece []byte) error {
	switch {
	case k.inside:
		k.add(piece)
		return nil
	case k.inList: // commas and spaces
		return nil
	case len(k.out)+len(piece) > k.limits.Kept:
		return k.tooLarge()
	}
	k.out = append(k.out, piece...)
	return nil
}

// tooLarge is the error of net/http, so that the refusal has its words.
func (k *keeper) tooLarge() error { return &http.MaxBytesError{Limit: int64(k.limits.Kept)} }

// add keeps bytes of a message, or none of the message if there is no space for it: then
// it must be one that can be skipped.
func (k *keeper) add(piece []byte) {
	if k.message.missing {
		return
	}
	if !k.fits(piece) && k.known && !k.odd && !k.settled {
		k.settled = true // now, not at its end: the messages before it make space
		k.window.settle()
	}
	if !k.fits(piece) {
		k.message.missing = true
		k.window.cut(k.message.size)
		k.message.size = 0
		return
	}
	k.window.add(piece)
	k.message.size += len(piece)
}

// fits reports whether there is space for more of a message. If not, it first skips all
// messages that can be skipped: one after the other, what is kept would be moved each time.
func (k *keeper) fits(piece []byte) bool {
	space := k.limits.Kept - len(k.out) - len("[]") - len(piece) - len(",")
	if k.window.bytes() > space {
		for k.window.old > 0 {
			k.skip()
		}
	}
	return k.window.bytes() <= space
}

func (k *keeper) skip() {
	k.window.skip()
	k.skipped++
}

// begin implements listener.
func (k *keeper) begin(depth int, first byte) error {
	switch {
	case depth == 1 && k.named && first == '[':
		k.inList = true
		k.window.reset()
	case depth == 2 && k.inList:
		if first != '{' {
			return core.Errorf(core.CodeInvalid, "%s[%d] must be an object", k.list.Name, k.window.read)
		}
		k.inside, k.message = true, message{}
		k.roleNext, k.known, k.odd, k.settled = false, false, false, false
	}
	return nil
}

// name implements listener.
func (k *keeper) name(depth int, raw []byte) {
	switch {
	case depth == 1:
		k.named = string(raw) == k.list.Name
	case depth == 3 && k.inside:
		if k.roleNext = string(raw) == "role"; k.roleNext {
			k.known = false
			return
		}
		k.odd = k.odd || bytes.EqualFold(raw, []byte("role")) || escaped(raw)
	}
}

// word implements listener.
func (k *keeper) word(depth int, raw []byte) {
	if depth == 3 && k.roleNext {
		k.roleNext = false
		k.known = contains(k.list.Known, raw)
		k.odd = k.odd || escaped(raw)
	}
}

func escaped(raw []byte) bool { return bytes.IndexByte(raw, '\\') >= 0 }

func contains(roles []string, raw []byte) bool {
	for _, role := range roles {
		if string(raw) == role {
			return true
		}
	}
	return false
}

// end implements listener.
func (k *keeper) end(depth int) error {
	switch {
	case depth == 2 && k.inside:
		k.inside = false
		return k.endMessage()
	case depth == 1 && k.inList:
		k.inList, k.named = false, false
		return k.endList()
	}
	return nil
}

func (k *keeper) endMessage() error {
	m := k.message
	if !m.missing {
		k.window.add([]byte{','})
		m.size++
	}
	switch known := k.known && !k.odd; {
	case k.settled && !known:
		return core.Errorf(core.CodeInvalid, "%s[%d].role is given twice", k.list.Name, k.window.read)
	case known && !k.settled:
		k.window.settle()
	}
	k.window.end(m)
	for k.window.holes > 0 { // what is kept are the newest messages, without a gap
		k.skip()
	}
	if k.window.old > 2*k.limits.Recent { // not each time: a skip may move what is kept
		k.trim()
	}
	if k.window.fresh() > MaxNew {
		return core.Errorf(core.CodeTooLarge, "%s has more than %d messages from the last one of the assistant on: send fewer in a request", k.list.Name, MaxNew)
	}
	return nil
}

// trim skips the oldest messages.
func (k *keeper) trim() {
	for k.window.old > k.limits.Recent {
		k.skip()
	}
}

func (k *keeper) endList() error {
	k.trim()
	if at := k.window.missing(); at >= 0 {
		return core.Errorf(core.CodeTooLarge, "request body is larger than %d bytes with %s[%d], also without older messages: send large files and results by URL", k.limits.Kept, k.list.Name, at)
	}
	k.out = k.window.appendTo(k.out)
	return nil
}

// finish returns what is kept of the whole text.
func (k *keeper) finish() ([]byte, int, error) {
	if err := k.scan.complete(); err != nil {
		return nil, 0, err
	}
	return k.out, k.skipped, nil
}
