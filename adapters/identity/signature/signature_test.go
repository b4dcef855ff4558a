package signature_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/identity/signature"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// The example of the specification, and what Python's hmac makes of it with another key.
const (
	key      = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	otherKey = "whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="
	id       = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	at       = "1614265330"
	body     = `{"test": 2432232314}`
	made     = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	other    = "v1,n5DaN+gA2MAYX907WDJCkFssG5llG4OqYhJ+3q5ij4M="
)

func keys(t *testing.T, text string) signature.Keys {
	t.Helper()
	k, err := signature.ReadKeys(secret.New(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// signed is the value of the header of signatures.
func signed(t *testing.T, keys signature.Keys, id string, at time.Time, body string) string {
	t.Helper()
	h := http.Header{}
	keys.Sign(h, id, at, []byte(body))
	if got, want := h.Get("Webhook-Id")+" "+h.Get("Webhook-Timestamp"), fmt.Sprint(id, " ", at.Unix()); got != want {
		t.Errorf("id and time %s, want %s", got, want)
	}
	return h.Get("Webhook-Signature")
}

// moment is the time of the example.
var moment = time.Unix(1614265330, 0)

func header(id, at, signatures string) http.Header {
	return http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {signatures}}
}

func TestSign(t *testing.T) {
	for text, want := range map[string]string{key: made, otherKey: other, " " + key + "\n" + otherKey: made + " " + other} {
		if got := signed(t, keys(t, text), id, moment, body); got != want {
			t.Errorf("signed %q, want %q", got, want)
		}
	}
}

func TestVerify(t *testing.T) {
	tests := []struct {
		name, keys, signatures, id, at, body string
		verified                             bool
	}{
		{"right", key, made, id, at, body, true},
		{"by the second key", otherKey + " " + key, made, id, at, body, true},
		{"by the first key", key + " " + otherKey, made, id, at, body, true},
		{"the last of several", key, "v1a,xx v1,AAAA " + other + " " + made, id, at, body, true},
		{"the first of several", key, made + " " + other + " v1,AAAA", id, at, body, true},
		{"another key's", key, other, id, at, body, false},
		{"another id", key, made, "msg_2", at, body, false},
		{"another time", key, made, id, "1614265331", body, false},
		{"another body", key, made, id, at, body + " ", false},
		{"another version", key, "v2" + made[2:], id, at, body, false},
		{"no version", key, made[3:], id, at, body, false},
		{"cut off", key, made[:43], id, at, body, false},
		{"empty", key, "v1,", id, at, body, false},
		{"none", key, "", id, at, body, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := keys(t, tt.keys).Verify(header(tt.id, tt.at, tt.signatures), moment, []byte(tt.body))
			if tt.verified && (err != nil || got != tt.id) || !tt.verified && (got != "" || core.CodeOf(err) != core.CodeUnauthorized) {
				t.Errorf("id %q, %v; verified: %v", got, err, tt.verified)
			}
		})
	}
	if _, err := (signature.Keys{}).Verify(header(id, at, made), moment, []byte(body)); err == nil {
		t.Error("verified without a key")
	}
	twice := header(id, at, made)
	twice.Add("Webhook-Id", id)
	for want, h := range map[string]http.Header{
		"header Webhook-Timestamp is not within 5 minutes of the server's clock": header(id, "1614265029", made),
		"header Webhook-Timestamp is not a time in seconds":                      header(id, "now", made),
		"header Webhook-Id is required, exactly once":                            twice,
		"header Webhook-Signature is required, exactly once":                     {"Webhook-Id": {id}, "Webhook-Timestamp": {at}},
	} {
		if _, err := keys(t, key).Verify(h, moment, []byte(body)); core.CodeOf(err) != core.CodeUnauthorized || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// What a key signs it verifies, and nothing that was changed since.
func FuzzKeys(f *testing.F) {
	f.Add(key+" "+otherKey, id, at, body)
	f.Fuzz(func(t *testing.T, text, id, at, body string) {
		k, err := signature.ReadKeys(secret.New(text))
		if err != nil {
			return
		}
		h := http.Header{}
		k.Sign(h, id, moment, []byte(body))
		got, err := k.Verify(h, moment, []byte(body))
		_, changed := k.Verify(h, moment, []byte(body+" "))
		if id != "" && (got != id || err != nil) || changed == nil {
			t.Errorf("%q is signed %q: %v, %v", body, h, err, changed)
		}
		_, _ = k.Verify(header(id, at, body), moment, nil)
	})
}

func TestSecretsThatAreRefused(t *testing.T) {
	const form = " is not whsec_ and the base64 of 24 to 64 bytes, as Standard Webhooks has them"
	tests := []struct{ name, text, want string }{
		{"none", " ", "there is no secret"},
		{"no prefix", key[6:], "secret 1" + form},
		{"no base64", "whsec_not-base64", "secret 1" + form},
		{"empty", "whsec_", "secret 1" + form},
		{"23 bytes", "whsec_" + strings.Repeat("QUFB", 7) + "QUE=", "secret 1" + form},
		{"65 bytes", "whsec_" + strings.Repeat("QUFB", 21) + "QUE=", "secret 1" + form},
		{"one of two", key + " whsec_QUFBQQ==", "secret 2" + form},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if k, err := signature.ReadKeys(secret.New(tt.text)); k != nil || core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want {
				t.Errorf("%d keys, %v, want %s", len(k), err, tt.want)
			}
		})
	}
	for n, text := range map[int]string{24: strings.Repeat("QUFB", 8), 64: strings.Repeat("QUFB", 21) + "QQ=="} {
		if k := keys(t, "whsec_"+text); len(k) != 1 || len(k[0]) != n {
			t.Errorf("a key of %d bytes is read as %d keys", n, len(k))
		}
	}
}
