package core

import (
	"mime"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a file's names, in bytes. Its own bytes are bounded by what a request
// may have.
const (
	maxFilename = 255
	maxFileURL  = 2048
)

// CheckFile validates a block of type file; at names it in errors, which are
// [CodeInvalid]. A media type is required, and either bytes or an absolute http or
// https address without a user and a password.
func (b Block) CheckFile(at string) error {
	if kind, _, err := mime.ParseMediaType(b.MediaType); err != nil || !strings.Contains(kind, "/") {
		return Errorf(CodeInvalid, "%s: invalid media type %q, want one such as image/png", at, Excerpt(b.MediaType))
	}
	switch {
	case len(b.Data) == 0 && b.URL == "":
		return Errorf(CodeInvalid, "%s: the file is empty, want its bytes or a URL", at)
	case len(b.Data) > 0 && b.URL != "":
		return Errorf(CodeInvalid, "%s: the file has bytes and a URL, one of them is allowed", at)
	case b.Text != "":
		return Errorf(CodeInvalid, "%s: a file has no text", at)
	case len(b.Filename) > maxFilename:
		return Errorf(CodeTooLarge, "%s: the file name has %d bytes, at most %d are allowed", at, len(b.Filename), maxFilename)
	case !utf8.ValidString(b.Filename) || strings.ContainsFunc(b.Filename, unicode.IsControl):
		return Errorf(CodeInvalid, "%s: the file name has a character that is not for people", at)
	case len(b.URL) > maxFileURL:
		return Errorf(CodeTooLarge, "%s: the file's URL has %d bytes, at most %d are allowed", at, len(b.URL), maxFileURL)
	case b.URL != "":
		u, err := url.Parse(b.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
			return Errorf(CodeInvalid, "%s: the file's URL is not an absolute http or https address without a user", at)
		}
	}
	return nil
}
