package aisdk

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// file converts a file part; at names it in errors. The client has read what a person
// chose into a data URL.
func (p uiPart) file(at string) (core.Block, error) {
	b := core.Block{Type: core.BlockFile, MediaType: p.MediaType, Filename: p.Filename}
	if rest, ok := cutScheme(p.URL, "data:"); ok {
		var err error
		if b.MediaType, b.Data, err = decodeDataURL(at, rest); err != nil {
			return b, err
		}
		if p.MediaType != "" { // the part's type counts: the URL's may be general
			b.MediaType = p.MediaType
		}
	} else {
		b.URL = p.URL
	}
	return b, b.CheckFile(at)
}

// filePart is the client's form of a file, which [uiPart.file] reads.
func filePart(b core.Block) uiPart {
	p := uiPart{Type: "file", MediaType: b.MediaType, URL: b.URL, Filename: b.Filename}
	if b.URL == "" {
		p.URL = "data:" + b.MediaType + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
	}
	return p
}

// decodeDataURL reads what follows the scheme of a data URL (RFC 2397).
func decodeDataURL(at, rest string) (mediaType string, data []byte, err error) {
	head, body, found := strings.Cut(rest, ",")
	if !found {
		return "", nil, core.Errorf(core.CodeInvalid, "%s.url is a data URL without a comma", at)
	}
	mediaType, encoded := strings.CutSuffix(head, ";base64")
	text, err := url.PathUnescape(body)
	if err != nil {
		return "", nil, core.Errorf(core.CodeInvalid, "%s.url is a data URL with a broken escape", at)
	}
	if !encoded {
		return mediaType, []byte(text), nil
	}
	if data, err = base64.StdEncoding.DecodeString(text); err != nil {
		return "", nil, core.Errorf(core.CodeInvalid, "%s.url is a data URL that is not base64", at)
	}
	return mediaType, data, nil
}

// cutScheme is strings.CutPrefix for a scheme, which may be written in any case.
func cutScheme(address, scheme string) (rest string, ok bool) {
	if len(address) < len(scheme) || !strings.EqualFold(address[:len(scheme)], scheme) {
		return address, false
	}
	return address[len(scheme):], true
}
