package httpapi

import (
	"bytes"
	"cmp"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/adapters/internal/newest"
	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

const (
	defaultMaxBody = 4 << 20 // bytes
	maxDepth       = 64
	// maxRead is the most bytes that are read of a body whose older messages are skipped.
	maxRead = 64 << 20
	// recent is how many bytes of messages that could be skipped are kept, the newest ones.
	// A body that is not larger is not searched for them.
	recent = 256 << 10
)

// errMediaType becomes a 415, as [protocol.ErrForm] does: no code of the table has it.
var errMediaType = core.Errorf(core.CodeUnsupported, "content type of a body must be application/json")

// errSlowBody becomes a 408, for which the table has no code: the transport's deadline of
// the body is over.
var errSlowBody = core.Errorf(core.CodeInvalid, "the body of the request did not arrive in time")

// limit reads the body of a request within the limits and replaces it, so that the limits
// hold for mounted handlers, too. It reads all of it before any decoder does: a body that
// is refused for its size, its bytes, its depth or its values costs no parsing, and a deep
// body no stack.
//
// done ends the claim of the body on the memory for bodies.
func (a *api) limit(r *http.Request) (done func(), err error) {
	if protocol.Form(r) {
		return func() {}, protocol.ErrForm
	}
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}, nil
	}
	in := &arriving{body: r.Body, length: r.ContentLength, most: a.maxBody(), all: &a.arriving}
	if in.length < 0 || in.length > int64(in.least()) { // a shorter body is not searched
		in.list, in.repeats = a.repeated(r)
	}
	text, skipped, err := in.read()
	if err != nil {
		in.done()
		return func() {}, err
	}
	body := &whole{text: text, skipped: skipped, left: r.Context().Err}
	body.rest.Reset(text)
	r.Body = body
	if len(text) == 0 {
		return in.done, nil
	}
	return in.done, in.check(r.Header.Get("Content-Type"), text)
}

// maxBody returns the most bytes of a body.
func (a *api) maxBody() int { return cmp.Or(a.options.MaxBody, defaultMaxBody) }

// check refuses a body for its type, its bytes, its depth or its values.
func (in *arriving) check(contentType string, text []byte) error {
	if !isJSON(contentType) {
		return errMediaType
	}
	if !in.checked { // else while it was read
		if !utf8.Valid(text) {
			return core.Errorf(core.CodeInvalid, "body is not UTF-8 at byte %d", invalidAt(text))
		}
		if err := bodies.CheckDepth(text); err != nil {
			return err
		}
	}
	return protocol.CheckValues(text)
}

// repeated returns the list of messages in the requests of the mount that a request is for,
// if its clients repeat the conversation.
func (a *api) repeated(r *http.Request) (newest.List, bool) {
	mounts := a.repeating()
	if mounts == nil {
		return newest.List{}, false
	}
	mount, _ := mounts.Handler(r)
	return protocol.Repeated(mount)
}

// repeating returns a mux of the mounts whose clients repeat the conversation; nil: there
// are none.
func repeating(mounts map[string]http.Handler) (mux *http.ServeMux) {
	for pattern, handler := range mounts {
		if _, ok := protocol.Repeated(handler); ok {
			if mux == nil {
				mux = http.NewServeMux()
			}
			mux.Handle(pattern, handler)
		}
	}
	return mux
}

// whole is a body that was read within the limits.
type whole struct {
	rest    bytes.Reader // of text
	text    []byte
	skipped int          // messages that were before the others
	left    func() error // not nil: its client is gone
}

// Skipped is for [protocol.Skipped].
func (b *whole) Skipped() int { return b.skipped }

// Take is for [protocol.Body]. The request does not keep the body afterwards: it may take
// long to respond to.
func (b *whole) Take() ([]byte, error) {
	if err := b.left(); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "read body: %w", err)
	}
	text := b.text
	b.drop()
	return text, nil
}

// drop forgets the body.
func (b *whole) drop() {
	b.text = nil
	b.rest.Reset(nil)
}

// Read implements io.Reader. As soon as the client is gone, it returns no more data to
// the decoder of a mounted handler.
func (b *whole) Read(p []byte) (int, error) {
	if err := b.left(); err != nil {
		return 0, err
	}
	return b.rest.Read(p)
}

// Close implements io.Closer.
func (*whole) Close() error { return nil }

// isJSON reports whether a media type is JSON.
func isJSON(contentType string) bool {
	if contentType == "application/json" { // the usual value is not parsed
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" ||
		strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"))
}

// invalidAt is the place of the first byte that is not UTF-8, for the text of the
// refusal.
func invalidAt(body []byte) int {
	for at := 0; at < len(body); {
		r, size := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return len(body)
}
