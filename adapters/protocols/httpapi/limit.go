package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

const (
	maxBody  = 1 << 20 // bytes
	maxDepth = 64
)

// errMediaType becomes a 415, as [protocol.ErrForm] does: no code of the table has it.
var errMediaType = core.Errorf(core.CodeUnsupported, "content type of a body must be application/json")

// errSlowBody becomes a 408, for which the table has no code: the transport's deadline of
// the body is over.
var errSlowBody = core.Errorf(core.CodeInvalid, "the body of the request did not arrive in time")

// limit reads the body of a request within the limits and replaces it, so that the limits
// hold for mounted handlers, too. It reads all of it before any decoder does: a body that
// is refused for its size, its bytes or its depth costs no parsing, and a deep body no
// stack.
func limit(w http.ResponseWriter, r *http.Request) error {
	if protocol.Form(r) {
		return protocol.ErrForm
	}
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errSlowBody
	}
	if err != nil {
		return core.Errorf(core.CodeInvalid, "read body: %w", err)
	}
	r.Body = &whole{Reader: bytes.NewReader(body), text: body, left: r.Context().Err}
	if len(body) == 0 {
		return nil
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return errMediaType
	}
	if !utf8.Valid(body) {
		return core.Errorf(core.CodeInvalid, "body is not UTF-8 at byte %d", invalidAt(body))
	}
	return bodies.CheckDepth(body)
}

// whole is a body that was read within the limits.
type whole struct {
	*bytes.Reader
	text []byte
	left func() error // not nil: its client is gone
}

// Read implements io.Reader. As soon as the client is gone, it returns no more data to
// the decoder of a mounted handler.
func (b *whole) Read(p []byte) (int, error) {
	if err := b.left(); err != nil {
		return 0, err
	}
	return b.Reader.Read(p)
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
