// Package signature signs and verifies requests as the Standard Webhooks specification
// (standardwebhooks.com) says: those that we send when something happens to a run, and
// those of others that start one. A signature is "v1," and the base64 of the HMAC-SHA256
// of id, time and body, joined by dots.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// The headers of a signed request.
const (
	ID        = "Webhook-Id"        // the same at each try
	Timestamp = "Webhook-Timestamp" // of the try, in seconds of Unix
	Header    = "Webhook-Signature" // one or several signatures, with spaces between them
)

// version begins a signature of the one kind that this package knows.
const version = "v1,"

// The size of a key, in bytes, as the specification bounds it.
const (
	leastKey = 24
	mostKey  = 64
)

// Keys are secrets that are shared with the other side. Several are a change from one to
// the next: all of them sign, and any of them may have signed.
type Keys [][]byte

// ReadKeys reads a secret: one key of 24 to 64 bytes as "whsec_" and its base64, or
// several with spaces between them. Its errors quote nothing of it, and have code
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

// Sign returns the value of [Header]: a signature for each key. at is the value of
// [Timestamp].
func (k Keys) Sign(id, at string, body []byte) string {
	all := make([]string, len(k))
	for i, key := range k {
		all[i] = version + base64.StdEncoding.EncodeToString(sum(key, id, at, body))
	}
	return strings.Join(all, " ")
}

// Verify reports whether any key made any of the signatures that a value of [Header]
// lists; those of other kinds count for nothing. Each pair is compared in constant time.
// That the time is near is the caller's to check.
func (k Keys) Verify(signatures, id, at string, body []byte) bool {
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
