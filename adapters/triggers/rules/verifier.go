package rules

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/identity/signature"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// tolerance is how far the time of a signed request may be from ours: an older request
// may be a recording.
const tolerance = 5 * time.Minute

// verifier checks the requests of one trigger.
type verifier struct {
	scheme  scheme
	secrets [][]byte // any of which may have signed
	form    *signing // of scheme hmac
}

// newVerifier reads the secrets of a trigger out of the text of their variable.
func newVerifier(w webhook, text string) (*verifier, error) {
	v := &verifier{scheme: w.Scheme, form: w.HMAC}
	for secret := range strings.FieldsSeq(text) {
		v.secrets = append(v.secrets, []byte(secret))
	}
	if len(v.secrets) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "environment variable %s is required: it is the secret that signs requests", w.Variable())
	}
	if w.Scheme == schemeStandard {
		keys, err := signature.ReadKeys(secret.New(text))
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "environment variable %s: %w", w.Variable(), err)
		}
		v.secrets = keys
	}
	return v, nil
}

// verify returns the id of a request that was signed, which is the same when it is
// delivered again.
func (v *verifier) verify(h http.Header, body []byte, now time.Time) (id string, err error) {
	switch v.scheme {
	case schemeGitHub:
		return v.github(h, body)
	case schemeStandard:
		return v.standard(h, body, now)
	case schemeHMAC:
		return v.form.verify(h, body, v.secrets, now)
	}
	return v.slack(h, body, now)
}

func (v *verifier) github(h http.Header, body []byte) (string, error) {
	given, err := one(h, "X-Hub-Signature-256")
	if err != nil {
		return "", err
	}
	if err := v.signed(given, "sha256=", body); err != nil {
		return "", err
	}
	return one(h, "X-GitHub-Delivery")
}

func (v *verifier) standard(h http.Header, body []byte, now time.Time) (string, error) {
	return signature.Keys(v.secrets).Verify(h, now, body)
}

// slack has no header for what is the same in every delivery: the body has, or is.
func (v *verifier) slack(h http.Header, body []byte, now time.Time) (string, error) {
	at, err := recent(h, "X-Slack-Request-Timestamp", now)
	if err != nil {
		return "", err
	}
	given, err := one(h, "X-Slack-Signature")
	if err != nil {
		return "", err
	}
	if err := v.signed(given, "v0=", []byte("v0:"+at+":"), body); err != nil {
		return "", err
	}
	var event struct {
		ID string `json:"event_id"`
	}
	if json.Unmarshal(body, &event) == nil && event.ID != "" {
		return event.ID, nil
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}

// one returns the value of a header that must be given exactly once.
func one(h http.Header, name string) (string, error) {
	values := h.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", core.Errorf(core.CodeUnauthorized, "header %s is required, exactly once", name)
	}
	return values[0], nil
}

// recent returns a header that is a time in seconds of Unix, near now.
func recent(h http.Header, name string, now time.Time) (string, error) {
	text, err := one(h, name)
	if err != nil {
		return "", err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", core.Errorf(core.CodeUnauthorized, "header %s is not a time in seconds", name)
	}
	if away := now.Sub(time.Unix(seconds, 0)).Abs(); away > tolerance {
		return "", core.Errorf(core.CodeUnauthorized, "header %s is not within %d minutes of the server's clock", name, int(tolerance.Minutes()))
	}
	return text, nil
}

// signed is an error unless any secret made the signature, a prefix and hexadecimal
// digits, over the parts. They are compared in constant time.
func (v *verifier) signed(given, prefix string, parts ...[]byte) error {
	encoded, ok := strings.CutPrefix(given, prefix)
	made, err := hex.DecodeString(encoded)
	matches := false
	for _, secret := range v.secrets {
		mac := hmac.New(sha256.New, secret)
		for _, part := range parts {
			mac.Write(part) // which has no error
		}
		matches = hmac.Equal(mac.Sum(nil), made) || matches
	}
	if !ok || err != nil || !matches {
		return v.refused()
	}
	return nil
}

func (v *verifier) refused() error {
	return core.Errorf(core.CodeUnauthorized, "the request has no valid signature of scheme %s", v.scheme)
}
