package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/trigger"
	"github.com/reveille-run/reveille/core"
)

// tolerance is how far the time of a signed request may be from ours: what is older
// may be somebody's recording.
const tolerance = 5 * time.Minute

// verifier checks the requests of one trigger.
type verifier struct {
	scheme  trigger.Scheme
	secrets [][]byte // any of which may have signed
}

// newVerifier reads the secrets of a trigger out of the text of their variable.
func newVerifier(w trigger.Webhook, text string) (*verifier, error) {
	v := &verifier{scheme: w.Scheme}
	for i, secret := range strings.Fields(text) {
		key := []byte(secret)
		if w.Scheme == trigger.SchemeStandard {
			var err error
			key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
			if err != nil || len(key) == 0 { // which quotes nothing of it
				return nil, core.Errorf(core.CodeInvalid, "environment variable %s: secret %d is not whsec_ and base64, as Standard Webhooks has them", w.Variable(), i+1)
			}
		}
		v.secrets = append(v.secrets, key)
	}
	if len(v.secrets) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "environment variable %s is required: it is the secret that signs requests", w.Variable())
	}
	return v, nil
}

// verify returns the id of a request that was signed, which is the same when it is
// delivered again.
func (v *verifier) verify(h http.Header, body []byte, now time.Time) (id string, err error) {
	switch v.scheme {
	case trigger.SchemeGitHub:
		return v.github(h, body)
	case trigger.SchemeStandard:
		return v.standard(h, body, now)
	}
	return v.slack(h, body, now)
}

func (v *verifier) github(h http.Header, body []byte) (string, error) {
	signature, err := one(h, "X-Hub-Signature-256")
	if err != nil {
		return "", err
	}
	if err := v.signed(hexOf(signature, "sha256="), body); err != nil {
		return "", err
	}
	return one(h, "X-GitHub-Delivery")
}

func (v *verifier) standard(h http.Header, body []byte, now time.Time) (string, error) {
	id, err := one(h, "Webhook-Id")
	if err != nil {
		return "", err
	}
	at, err := recent(h, "Webhook-Timestamp", now)
	if err != nil {
		return "", err
	}
	list, err := one(h, "Webhook-Signature")
	if err != nil {
		return "", err
	}
	var signatures [][]byte
	for signature := range strings.FieldsSeq(list) {
		if encoded, ok := strings.CutPrefix(signature, "v1,"); ok { // others are of other kinds
			if sum, err := base64.StdEncoding.DecodeString(encoded); err == nil {
				signatures = append(signatures, sum)
			}
		}
	}
	return id, v.signed(signatures, []byte(id+"."+at+"."), body)
}

// slack has no header for what is the same in every delivery: the body has, or is.
func (v *verifier) slack(h http.Header, body []byte, now time.Time) (string, error) {
	at, err := recent(h, "X-Slack-Request-Timestamp", now)
	if err != nil {
		return "", err
	}
	signature, err := one(h, "X-Slack-Signature")
	if err != nil {
		return "", err
	}
	if err := v.signed(hexOf(signature, "v0="), []byte("v0:"+at+":"), body); err != nil {
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
		return "", core.Errorf(core.CodeUnauthorized, "header %s is no time in seconds", name)
	}
	if away := now.Sub(time.Unix(seconds, 0)).Abs(); away > tolerance {
		return "", core.Errorf(core.CodeUnauthorized, "header %s is not within %d minutes of the server's clock", name, int(tolerance.Minutes()))
	}
	return text, nil
}

func hexOf(signature, prefix string) [][]byte {
	encoded, ok := strings.CutPrefix(signature, prefix)
	sum, err := hex.DecodeString(encoded)
	if !ok || err != nil {
		return nil
	}
	return [][]byte{sum}
}

// signed reports whether any secret made any of the signatures over the parts. Each
// pair is compared in constant time.
func (v *verifier) signed(signatures [][]byte, parts ...[]byte) error {
	matches := false
	for _, secret := range v.secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write(slices.Concat(parts...))
		sum := mac.Sum(nil)
		for _, signature := range signatures {
			matches = hmac.Equal(sum, signature) || matches
		}
	}
	if !matches {
		return core.Errorf(core.CodeUnauthorized, "%s", fmt.Sprintf("the request is not signed as scheme %s asks for", v.scheme))
	}
	return nil
}
