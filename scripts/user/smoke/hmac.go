package main

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"strings"
)

// form is webhook.hmac of the trigger, which has the meaning of its keys.
type form struct {
	Header          string `json:"header"`
	Algorithm       string `json:"algorithm"`
	Encoding        string `json:"encoding"`
	Prefix          string `json:"prefix"`
	Content         string `json:"content"`
	Timestamp       string `json:"timestamp"`
	TimestampPrefix string `json:"timestamp_prefix"`
	Tolerance       int    `json:"tolerance_seconds"`
	ID              string `json:"id"`
}

// readForm reads the value of -hmac. The host checks the values.
func readForm(text string) (f form, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, fmt.Errorf("-hmac is not the object webhook.hmac of the trigger: %w", err)
	}
	if f.Header == "" {
		return f, fmt.Errorf("-hmac has no header, want the object webhook.hmac of the trigger")
	}
	return f, nil
}

// sign adds the headers of a request, at a time in seconds of Unix.
func (f form) sign(h http.Header, secret, id, now string, body []byte) error {
	algorithm := map[string]func() hash.Hash{"": sha256.New, "sha256": sha256.New, "sha1": sha1.New, "sha512": sha512.New}[f.Algorithm]
	if algorithm == nil {
		return fmt.Errorf("-hmac has the algorithm %q, want sha256, sha1 or sha512", f.Algorithm)
	}
	content := f.Content
	if content == "" {
		content = "{body}"
	}
	mac := hmac.New(algorithm, []byte(secret))
	_, _ = strings.NewReplacer("{body}", string(body), "{timestamp}", now, "{id}", id).WriteString(mac, content) // which has no error
	encoded := hex.EncodeToString(mac.Sum(nil))
	if f.Encoding == "base64" {
		encoded = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	encoded = f.Prefix + encoded
	if f.TimestampPrefix != "" {
		encoded = f.TimestampPrefix + now + "," + encoded
	}
	h.Set(f.Header, encoded)
	if f.Timestamp != "" {
		h.Set(f.Timestamp, now)
	}
	if f.ID != "" {
		h.Set(f.ID, id)
	}
	return nil
}
