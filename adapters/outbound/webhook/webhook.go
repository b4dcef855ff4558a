package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/reveille-run/reveille/adapters/egress"
	"github.com/reveille-run/reveille/adapters/identity/signature"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/secret"
)

// Options configures a [Webhook]. URL, Client and one of Secret and Source are required.
type Options struct {
	URL    string
	Secret secret.String // see [signature.ReadKeys]
	Source secret.Source // in its place: asked at each try
	Client *egress.Client
	Env    *env.Env // for the time of a try; nil: the system's
}

// Webhook is a mailbox.Publisher that posts to an address. It is safe for concurrent use.
type Webhook struct {
	url    string
	keys   signature.Keys
	source secret.Source // of keys; nil: they stay
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
	var keys signature.Keys
	if o.Source == nil {
		if keys, err = signature.ReadKeys(o.Secret); err != nil {
			return nil, fmt.Errorf("webhook: %w", err)
		}
	}
	if o.Env == nil {
		o.Env = env.System()
	}
	return &Webhook{url: o.URL, keys: keys, source: o.Source, client: o.Client, env: o.Env}, nil
}

// Publish implements mailbox.Publisher.
func (w *Webhook) Publish(ctx context.Context, a mailbox.Announcement) error {
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode announcement: %w", err)
	}
	keys, err := w.newest(ctx)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return core.Errorf(core.CodeInvalid, "webhook: the address is none")
	}
	at := strconv.FormatInt(w.env.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "reveille")
	request.Header.Set(signature.ID, a.ID)
	request.Header.Set(signature.Timestamp, at)
	request.Header.Set(signature.Header, keys.Sign(a.ID, at, body))
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

// newest are the keys as they are now.
func (w *Webhook) newest(ctx context.Context) (signature.Keys, error) {
	if w.source == nil {
		return w.keys, nil
	}
	text, err := w.source(ctx, secret.String{})
	if err != nil {
		return nil, err
	}
	return signature.ReadKeys(text)
}
