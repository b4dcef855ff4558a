// Package toolcall defines what may be stored of a call: the limits of its arguments and
// result, and the checks of all results, tickets and decisions.
package toolcall

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// The limits, in bytes.
const (
	MaxArguments = 256 << 10 // the arguments' JSON
	MaxResult    = 1 << 20   // the result's data, message, metadata and content together; bytes of files as base64, as in what a person sends
)

// MaxContent bounds the blocks of a result's content.
const MaxContent = 16

// ReadResult is the name of the runtime's own tool, which models are offered where a
// conversation shows large results as references: it returns pieces of them. No other
// tool has it.
const ReadResult = "read_result"

// The errors of the limits.
var (
	// ErrArgumentsTooLarge is returned for arguments of more than [MaxArguments] bytes.
	ErrArgumentsTooLarge = core.Errorf(core.CodeTooLarge, "arguments are larger than %d bytes", MaxArguments)
	// ErrResultTooLarge is returned for a result of more than [MaxResult] bytes.
	ErrResultTooLarge = core.Errorf(core.CodeTooLarge, "result is larger than %d bytes", MaxResult)
	// ErrTooMuchContent is returned for a result with more than [MaxContent] blocks of content.
	ErrTooMuchContent = core.Errorf(core.CodeTooLarge, "result has more than %d blocks of content", MaxContent)
)

// CheckResult says why a result cannot be stored: [ErrResultTooLarge],
// [ErrTooMuchContent], data or metadata that are not JSON, or a block of content that is
// not valid. Package toolrun asks it about what a tool returns, and a run about what a gate
// gives a call.
func CheckResult(r core.ToolResult) error {
	if len(r.Content) > MaxContent {
		return fmt.Errorf("%w: it has %d", ErrTooMuchContent, len(r.Content))
	}
	size := len(r.Data) + len(r.Message) + contentSize(r.Content)
	for name, value := range r.Metadata {
		size += len(name) + len(value)
	}
	if size > MaxResult { // before the rest, which takes time for each byte
		return ErrResultTooLarge
	}
	if r.Data != nil && !ValidJSON(r.Data) {
		return errors.New("the result's data is not JSON")
	}
	for i, b := range r.Content {
		if err := checkBlock(b, fmt.Sprintf("content[%d]", i)); err != nil {
			return err
		}
	}
	if len(r.Metadata) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metadata)) { // sorted: each run of it says the same
		if name == "" || !utf8.ValidString(name) || !ValidJSON(r.Metadata[name]) {
			return fmt.Errorf("the result's metadata %q is not JSON under a name", core.Excerpt(name))
		}
	}
	return nil
}

// contentSize is the size of blocks as they are counted for a limit.
func contentSize(content []core.Block) (size int) {
	for i := range content {
		b := &content[i]
		size += len(b.Text) + base64.StdEncoding.EncodedLen(len(b.Data)) + len(b.URL) + len(b.MediaType) + len(b.Filename)
	}
	return size
}

// checkBlock validates one block of a result's content; at names it in errors.
func checkBlock(b core.Block, at string) error {
	if b.Echo != nil || b.Origin != "" || len(b.Annotations) > 0 {
		return core.Errorf(core.CodeInvalid, "%s: echo, origin and annotations belong to blocks of a model", at)
	}
	switch b.Type {
	case core.BlockFile:
		return b.CheckFile(at)
	case core.BlockText:
		if b.MediaType != "" || b.Data != nil || b.URL != "" || b.Filename != "" {
			return core.Errorf(core.CodeInvalid, "%s: a text has no file", at)
		}
		if !utf8.ValidString(b.Text) {
			return core.Errorf(core.CodeInvalid, "%s: the text is not UTF-8", at)
		}
		return nil
	}
	return core.Errorf(core.CodeInvalid, "%s: type %q, allowed are text and file", at, core.Excerpt(string(b.Type)))
}

// ValidJSON reports whether b can be stored: json.Valid lets every byte pass
// inside a string.
func ValidJSON(b []byte) bool { return json.Valid(b) && utf8.Valid(b) }

// maxComplaint bounds, in bytes, an error that may quote the arguments; the names come
// first.
const maxComplaint = 500

// Complaint is what the model reads of an error.
func Complaint(err error) string {
	if Panicked(err) {
		return "the tool panicked" // its text is for the log alone
	}
	return wire.Shorten(err.Error(), maxComplaint)
}

// Panicked reports whether err is a panic.
func Panicked(err error) bool {
	_, ok := errors.AsType[*env.PanicError](err)
	return ok
}

type fatalError struct{ err error }

func (f *fatalError) Error() string { return f.err.Error() }
func (f *fatalError) Unwrap() error { return f.err }

// Fatal marks an error of a tool as the end of the run; nil is nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{err}
}

// IsFatal reports whether err, or an error that it wraps, was marked by [Fatal].
func IsFatal(err error) bool {
	_, fatal := errors.AsType[*fatalError](err)
	return fatal
}
