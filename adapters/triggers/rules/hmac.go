package rules

import (
	"crypto/hmac"
	"crypto/sha1" // senders still use it, and HMAC-SHA1 is not broken
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
)

// signing is how the requests of a webhook of scheme hmac are signed.
type signing struct {
	Header    string `json:"header,omitempty"`    // with one signature, or several separated by commas
	Algorithm string `json:"algorithm,omitempty"` // sha256, sha1 or sha512; empty: sha256
	Encoding  string `json:"encoding,omitempty"`  // of the signature: hex or base64; empty: hex
	Prefix    string `json:"prefix,omitempty"`    // before each signature
	// Content is what is signed, with {body}, {timestamp} and {id}. Empty: {body}.
	Content string `json:"content,omitempty"`
	// Timestamp is the header with the time of the request; TimestampPrefix is instead the
	// prefix of the time among the signatures of Header. Both empty: there is no time.
	Timestamp       string `json:"timestamp,omitempty"`
	TimestampPrefix string `json:"timestamp_prefix,omitempty"`
	// Tolerance is how many seconds the time may be from ours. 0: 300.
	Tolerance int `json:"tolerance_seconds,omitempty"`
	// ID is the header with the id of the event, which is the same in each delivery. Empty:
	// the hash of the body is the id.
	ID string `json:"id,omitempty"`
}

// The bounds of a scheme hmac.
const (
	mostTolerance  = 3600 // seconds
	mostSignatures = 16   // in one header
	longestPrefix  = 32   // bytes
	longestContent = 256  // bytes
)

// algorithms are the hash functions of HMAC.
var algorithms = map[string]func() hash.Hash{"": sha256.New, "sha256": sha256.New, "sha1": sha1.New, "sha512": sha512.New}

// decoders are the encodings of a signature.
var decoders = map[string]func(string) ([]byte, error){
	"": hex.DecodeString, "hex": hex.DecodeString, "base64": base64.StdEncoding.Strict().DecodeString,
}

// They are compiled at their first use: few deployments have signed webhooks, and the two
// were a fourteenth of each start.
var (
	headerName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$") }) // a token of RFC 9110
	placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[^{}]*\}`) })
)

func (s signing) check() error {
	if s.Header == "" {
		return at("webhook.hmac.header", errors.New("is required: the header with the signature"))
	}
	for _, h := range []struct{ part, name string }{{"header", s.Header}, {"timestamp", s.Timestamp}, {"id", s.ID}} {
		if h.name != "" && !headerName().MatchString(h.name) {
			return at("webhook.hmac."+h.part, fmt.Errorf("%q is not the name of a header, such as X-Signature", core.Excerpt(h.name)))
		}
	}
	if algorithms[s.Algorithm] == nil {
		return at("webhook.hmac.algorithm", fmt.Errorf("%q is unknown, allowed are sha256, sha1, sha512", core.Excerpt(s.Algorithm)))
	}
	if decoders[s.Encoding] == nil {
		return at("webhook.hmac.encoding", fmt.Errorf("%q is unknown, allowed are hex, base64", core.Excerpt(s.Encoding)))
	}
	for _, p := range []struct{ part, text string }{{"prefix", s.Prefix}, {"timestamp_prefix", s.TimestampPrefix}} {
		if len(p.text) > longestPrefix || strings.ContainsFunc(p.text, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' }) {
			return at("webhook.hmac."+p.part, fmt.Errorf("%q has a comma, a space or another character that no header has, or more than %d bytes", core.Excerpt(p.text), longestPrefix))
		}
	}
	if s.Tolerance < 0 || s.Tolerance > mostTolerance {
		return at("webhook.hmac.tolerance_seconds", fmt.Errorf("is %d, allowed are 1 to %d", s.Tolerance, mostTolerance))
	}
	return s.checkTime()
}

// checkTime refuses a time that is not signed, and a content that names what is not there.
func (s signing) checkTime() error {
	switch {
	case s.Timestamp != "" && s.TimestampPrefix != "":
		return at("webhook.hmac.timestamp_prefix", errors.New("and timestamp are both set, set one of them"))
	case s.TimestampPrefix != "" && s.TimestampPrefix == s.Prefix:
		return at("webhook.hmac.timestamp_prefix", errors.New("is the prefix of signatures too"))
	case !s.timed() && s.Tolerance != 0:
		return at("webhook.hmac.tolerance_seconds", errors.New("needs timestamp or timestamp_prefix"))
	case len(s.Content) > longestContent:
		return at("webhook.hmac.content", fmt.Errorf("has %d bytes, allowed are %d", len(s.Content), longestContent))
	}
	counts := map[string]int{}
	for _, name := range placeholder().FindAllString(s.content(), -1) {
		counts[name]++
	}
	for name := range counts {
		if name != "{body}" && name != "{timestamp}" && name != "{id}" {
			return at("webhook.hmac.content", fmt.Errorf("has %s, allowed are {body}, {timestamp}, {id}", core.Excerpt(name)))
		}
	}
	switch {
	case counts["{body}"] != 1:
		return at("webhook.hmac.content", fmt.Errorf("has {body} %d times, exactly one is required", counts["{body}"]))
	case counts["{timestamp}"] > 0 && !s.timed():
		return at("webhook.hmac.content", errors.New("has {timestamp}, which needs timestamp or timestamp_prefix"))
	case counts["{timestamp}"] == 0 && s.timed():
		return at("webhook.hmac.content", errors.New("has no {timestamp}: a time that is not signed protects against nothing"))
	case counts["{id}"] > 0 && s.ID == "":
		return at("webhook.hmac.content", errors.New("has {id}, which needs id"))
	}
	return nil
}

// timed reports whether requests have a signed time.
func (s signing) timed() bool { return s.Timestamp != "" || s.TimestampPrefix != "" }

func (s signing) content() string {
	if s.Content == "" {
		return "{body}"
	}
	return s.Content
}

// replays says when a recorded request can be sent again; empty: never.
func (s signing) replays() string {
	switch {
	case s.timed():
		return ""
	case s.ID != "" && !strings.Contains(s.content(), "{id}"):
		return "at any time with another id: neither a time nor the id is signed"
	}
	return "48 hours after the first delivery: no time is signed"
}

// verify returns the id of a request that one of the secrets signed.
func (s signing) verify(h http.Header, body []byte, secrets [][]byte, now time.Time) (id string, err error) {
	header, err := one(h, s.Header)
	if err != nil {
		return "", err
	}
	signatures, at, err := s.split(header)
	if err != nil {
		return "", err
	}
	if s.Timestamp != "" {
		if at, err = one(h, s.Timestamp); err != nil {
			return "", err
		}
	}
	if s.timed() {
		if err := s.recent(at, now); err != nil {
			return "", err
		}
	}
	if s.ID != "" {
		if id, err = one(h, s.ID); err != nil {
			return "", err
		}
	}
	if !s.made(signatures, s.parts(at, id, body), secrets) {
		return "", core.Errorf(core.CodeUnauthorized, "the request has no valid signature of scheme hmac")
	}
	if id == "" {
		sum := sha256.Sum256(body)
		id = hex.EncodeToString(sum[:])
	}
	return id, nil
}

// split returns the decoded signatures of a header, and the time among them. What has
// neither prefix is ignored, such as signatures of a newer version.
func (s signing) split(header string) (signatures [][]byte, at string, err error) {
	items := strings.Split(header, ",")
	if len(items) > mostSignatures {
		return nil, "", core.Errorf(core.CodeUnauthorized, "header %s has %d values, allowed are %d", s.Header, len(items), mostSignatures)
	}
	times := 0
	for _, item := range items {
		item = strings.TrimSpace(item)
		if text, ok := strings.CutPrefix(item, s.TimestampPrefix); ok && s.TimestampPrefix != "" {
			at = text
			times++
			continue
		}
		text, ok := strings.CutPrefix(item, s.Prefix)
		if made, err := decoders[s.Encoding](text); ok && err == nil {
			signatures = append(signatures, made)
		}
	}
	if s.TimestampPrefix != "" && times != 1 {
		return nil, "", core.Errorf(core.CodeUnauthorized, "header %s has %d times with the prefix %s, want 1", s.Header, times, s.TimestampPrefix)
	}
	return signatures, at, nil
}

// recent is an error unless a time is near now: in seconds or milliseconds of Unix, or of
// RFC 3339.
func (s signing) recent(text string, now time.Time) error {
	name := s.Timestamp
	if name == "" {
		name = s.Header
	}
	at, err := time.Parse(time.RFC3339, text)
	if n, numeric := strconv.ParseInt(text, 10, 64); numeric == nil && n >= 0 {
		if at, err = time.Unix(n, 0), nil; len(text) >= 13 {
			at = time.UnixMilli(n)
		}
	}
	if err != nil {
		return core.Errorf(core.CodeUnauthorized, "header %s is not a time in seconds or milliseconds, or of RFC 3339", name)
	}
	within := tolerance
	if s.Tolerance > 0 {
		within = time.Duration(s.Tolerance) * time.Second
	}
	if now.Sub(at).Abs() > within {
		return core.Errorf(core.CodeUnauthorized, "header %s is not within %d seconds of the server's clock", name, int(within.Seconds()))
	}
	return nil
}

// parts is the signed content, with the values of a request for its names. Values are not
// searched for names again.
func (s signing) parts(at, id string, body []byte) (parts [][]byte) {
	content, from := s.content(), 0
	for _, place := range placeholder().FindAllStringIndex(content, -1) {
		parts = append(parts, []byte(content[from:place[0]]))
		switch content[place[0]:place[1]] {
		case "{timestamp}":
			parts = append(parts, []byte(at))
		case "{id}":
			parts = append(parts, []byte(id))
		default:
			parts = append(parts, body)
		}
		from = place[1]
	}
	return append(parts, []byte(content[from:]))
}

// made reports whether one of the secrets made one of the signatures. Each pair is compared in
// constant time.
func (s signing) made(signatures, parts, secrets [][]byte) bool {
	matches := false
	for _, secret := range secrets {
		mac := hmac.New(algorithms[s.Algorithm], secret)
		for _, part := range parts {
			mac.Write(part) // which has no error
		}
		want := mac.Sum(nil)
		for _, signature := range signatures {
			matches = hmac.Equal(want, signature) || matches
		}
	}
	return matches
}
