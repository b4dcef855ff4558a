package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/reveille-run/reveille/adapters/internal/newest"
	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

const (
	// maxArriving is the most bytes of large bodies that are held at a time, from their
	// arrival to the first byte of the response.
	maxArriving = 64 << 20
	// smallBody is the size up to which a body is not counted.
	smallBody = 64 << 10
	// arrivingPause is after how many seconds a client should send its body again.
	arrivingPause = 5
)

// errArriving is refused with 503.
var errArriving = core.Errorf(core.CodeThrottled, "the bodies of other requests need more than %d bytes: try again later", maxArriving)

// tooLarge is the error of a body over a limit. It has a remedy.
func tooLarge(limit int64) error {
	return core.Errorf(core.CodeTooLarge, "request body is larger than %d bytes: send large files by URL, and only the newest messages", limit)
}

// refuseArriving writes the refusal of a body for which there is no memory.
func refuseArriving(w http.ResponseWriter) {
	w.Header().Set("Retry-After", strconv.Itoa(arrivingPause))
	protocol.JSON(w, http.StatusServiceUnavailable, protocol.Problem{Error: errArriving.Error(), Code: core.CodeOf(errArriving)})
}

// arriving is a body that is being read.
type arriving struct {
	body    io.Reader
	length  int64 // below 0: not known
	most    int   // bytes that are kept
	list    newest.List
	repeats bool // list can be shortened
	checked bool // its bytes and its depth, while it was read

	all     *atomic.Int64 // bytes of all bodies
	claimed int64         // of those
}

// least is how many bytes a body may have without being searched for messages to skip.
func (in *arriving) least() int { return min(recent, in.most) }

// read reads the body. It allocates at most twice the size of the body if its length is
// known, and at most five times the limit of bodies if messages are skipped.
func (in *arriving) read() (text []byte, skipped int, err error) {
	if in.length > in.limit() {
		return nil, 0, tooLarge(in.limit())
	}
	least := in.least()
	for whole := false; ; {
		text = grown(text, in.next(len(text), least))
		switch text, whole, err = in.fill(text); {
		case err != nil || whole:
			return text, 0, err
		case len(text) > smallBody && in.claimed == 0 && !in.claim():
			return nil, 0, errArriving
		case in.repeats && len(text) > least:
			in.checked = true
			all := io.MultiReader(bytes.NewReader(text), in.body)
			text, skipped, err = newest.Read(all, in.list, newest.Limits{Recent: least, Kept: in.most, Read: in.limit(), Depth: maxDepth})
			return text, skipped, slow(err)
		case len(text) > in.most:
			return nil, 0, tooLarge(int64(in.most))
		}
	}
}

// next returns the size up to which a body is read next, after its first n bytes.
func (in *arriving) next(n, least int) int {
	size := max(511, 2*n)
	if in.length > int64(n) {
		size = int(in.length)
	}
	if n <= smallBody {
		size = min(size, smallBody)
	}
	if in.repeats {
		size = min(size, least)
	}
	return min(size, in.most)
}

// limit returns the most bytes that are read.
func (in *arriving) limit() int64 {
	if in.repeats {
		return max(maxRead, int64(in.most))
	}
	return int64(in.most)
}

// grown returns a text with space for a size and the byte after it.
func grown(text []byte, size int) []byte {
	return append(make([]byte, 0, max(size, len(text))+1), text...)
}

// fill reads until a text has no more space, or is whole.
func (in *arriving) fill(text []byte) (filled []byte, whole bool, err error) {
	for len(text) < cap(text) {
		n, err := in.body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF {
			return text, true, nil
		}
		if err != nil {
			return nil, false, slow(err)
		}
	}
	return text, false, nil
}

// slow returns the error of a body that cannot be read.
func slow(err error) error {
	limit, over := errors.AsType[*http.MaxBytesError](err)
	switch {
	case over:
		return tooLarge(limit.Limit)
	case err == nil, core.CodeOf(err) != core.CodeInternal:
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlowBody
	}
	return core.Errorf(core.CodeInvalid, "read body: %w", err)
}

// claim counts the body among those that are held. It returns false if there is no memory
// for it.
func (in *arriving) claim() bool {
	in.claimed = int64(in.most)
	if in.length > 0 {
		in.claimed = min(in.claimed, in.length)
	}
	if in.all.Add(in.claimed) > max(maxArriving, int64(in.most)) {
		in.done()
		return false
	}
	return true
}

// done ends the claim. It may be called more than once.
func (in *arriving) done() {
	in.all.Add(-in.claimed)
	in.claimed = 0
}
