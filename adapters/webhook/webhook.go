package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/adapters/egress"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/secret"
)

// Options configures a [Webhook]. All but Env are required.
type Options struct {
	URL    string
	Secret secret.String // see [Keys]
	Client *egress.Client
	Env    *env.Env // for the time of a try; nil: the system's
}

// Webhook is a mailbox.Publisher that posts to an address. It is safe for concurrent use.
type Webhook struct {
	url    string
	keys   [][]byte
	client *egress.Client
	env    *env.Env
}

// New returns a Webhook. An address to which the client sends nothing, and a secret that
// is none, are errors of code invalid.
func New(o Options) (*Webhook, error) {
	if o.Client == nil {
		return nil, core.Errorf(core.CodeInvalid, "webhook: Client is required")
	}
	u, err := url.Parse(o.URL)
	if err == nil {
		err = o.Client.Check(u)
	}
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "webhook: %w", err)
	}
	keys, err := Keys(o.Secret)
	if err != nil {
		return nil, err
	}
	if o.Env == nil {
		o.Env = env.System()
	}
	return &Webhook{url: o.URL, keys: keys, client: o.Client, env: o.Env}, nil
}

// The size of a key, in bytes.
const (
	leastKey = 24
	mostKey  = 64
)

// Keys reads a secret: one key of 24 to 64 bytes as "whsec_" and its base64, or several
// with spaces between them, each of which signs: so a key can be replaced while receivers
// know either.
func Keys(s secret.String) (keys [][]byte, err error) {
	for _, word := range strings.Fields(s.Reveal()) {
		text, ok := strings.CutPrefix(word, "whsec_")
		key, failed := base64.StdEncoding.DecodeString(text)
		if !ok || failed != nil || len(key) < leastKey || len(key) > mostKey {
			return nil, core.Errorf(core.CodeInvalid, "webhook: the secret is not whsec_ and the base64 of %d to %d bytes", leastKey, mostKey)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "webhook: there is no secret")
	}
	return keys, nil
}

// Publish implements mailbox.Publisher.
func (w *Webhook) Publish(ctx context.Context, a mailbox.Announcement) error {
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode announcement: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return core.Errorf(core.CodeInvalid, "webhook: the address is none")
	}
	at := strconv.FormatInt(w.env.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "reveille")
	request.Header.Set("Webhook-Id", a.ID)
	request.Header.Set("Webhook-Timestamp", at)
	request.Header.Set("Webhook-Signature", w.signature(a.ID, at, body))
	response, err := w.client.Do(request)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection is used again; what it says does not count
	if response.StatusCode/100 != 2 {
		return core.Errorf(core.CodeUnavailable, "webhook: status %d", response.StatusCode)
	}
	return nil
}

// signature is the header's value: one for each key, with spaces between them.
func (w *Webhook) signature(id, at string, body []byte) string {
	var all []string
	for _, key := range w.keys {
		mac := hmac.New(sha256.New, key)
		for _, part := range [][]byte{[]byte(id), []byte("."), []byte(at), []byte("."), body} {
			mac.Write(part) // which has no error
		}
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}
