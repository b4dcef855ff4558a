// Package signature signs and verifies requests by the Standard Webhooks specification
// (standardwebhooks.com): the webhooks that we send when a run changes, and the webhooks
// of other systems that start a run. A signature is "v1," and the base64 of the
// HMAC-SHA256 of id, time and body, joined by dots.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// The headers of a signed request.
const (
	idHeader        = "Webhook-Id"        // the same at each attempt
	timeHeader      = "Webhook-Timestamp" // of the try, in seconds of Unix
	signatureHeader = "Webhook-Signature" // one or several signatures, with spaces between them
)

// tolerance is how far the time of a signed request may be from ours: an older one may be
// a recording.
const tolerance = 5 * time.Minute

// version begins a signature of the one kind that this package knows.
const version = "v1,"

// The size of a key, in bytes, as the specification bounds it.
const (
	leastKey = 24
	mostKey  = 64
)

// Keys are secrets shared with the other side. To rotate a key, list the old and the new:
// all of them sign, and a signature by any of them is valid.
type Keys [][]byte

// ReadKeys reads a secret: one key of 24 to 64 bytes as "whsec_" and its base64, or
// several, separated by spaces. Its errors quote no part of the secret, and have code
// [core.CodeInvalid].
func ReadKeys(s secret.String) (Keys, error) {
	var keys Keys
	for i, word := range strings.Fields(s.Reveal()) {
		text, ok := strings.CutPrefix(word, "whsec_")
		key, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(key) < leastKey || len(key) > mostKey {
			return nil, core.Errorf(core.CodeInvalid, "secret %d is not whsec_ and the base64 of %d to %d bytes, as Standard Webhooks has them", i+1, leastKey, mostKey)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "there is no secret")
	}
	return keys, nil
}

// Sign sets the headers of a request: Webhook-Id, which is the same at each attempt,
// Webhook-Timestamp, and Webhook-Signature with one signature for each key.
func (k Keys) Sign(h http.Header, id string, at time.Time, body []byte) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	h.Set(idHeader, id)
	h.Set(timeHeader, seconds)
	h.Set(signatureHeader, k.sign(id, seconds, body))
}

func (k Keys) sign(id, at string, body []byte) string {
	all := make([]string, len(k))
	for i, key := range k {
		all[i] = version + base64.StdEncoding.EncodeToString(sum(key, id, at, body))
	}
	return strings.Join(all, " ")
}

// Verify returns the id of a request that any of the keys signed within five minutes of
// now. The id is the same when the request is delivered again. Signatures of other
// versions are ignored, and each pair is compared in constant time. An error has code
// [core.CodeUnauthorized].
func (k Keys) Verify(h http.Header, now time.Time, body []byte) (id string, err error) {
	given := map[string]string{}
	for _, name := range []string{idHeader, timeHeader, signatureHeader} {
		values := h.Values(name)
		if len(values) != 1 || values[0] == "" {
			return "", core.Errorf(core.CodeUnauthorized, "header %s is required, exactly once", name)
		}
		given[name] = values[0]
	}
	seconds, err := strconv.ParseInt(given[timeHeader], 10, 64)
	if err != nil {
		return "", core.Errorf(core.CodeUnauthorized, "header %s is not a time in seconds", timeHeader)
	}
	if away := now.Sub(time.Unix(seconds, 0)).Abs(); away > tolerance {
		return "", core.Errorf(core.CodeUnauthorized, "header %s is not within %d minutes of the server's clock", timeHeader, int(tolerance.Minutes()))
	}
	if !k.made(given[signatureHeader], given[idHeader], given[timeHeader], body) {
		return "", core.Errorf(core.CodeUnauthorized, "the request has no valid signature of scheme standard")
	}
	return given[idHeader], nil
}

// made reports whether any key made any of the signatures that a header lists.
func (k Keys) made(signatures, id, at string, body []byte) bool {
	var given [][]byte
	for one := range strings.FieldsSeq(signatures) {
		encoded, ok := strings.CutPrefix(one, version)
		if made, err := base64.StdEncoding.DecodeString(encoded); ok && err == nil {
			given = append(given, made)
		}
	}
	matches := false
	for _, key := range k {
		want := sum(key, id, at, body)
		for _, made := range given {
			matches = hmac.Equal(want, made) || matches
		}
	}
	return matches
}

func sum(key []byte, id, at string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + ".")) // which has no error
	mac.Write(body)
	return mac.Sum(nil)
}
