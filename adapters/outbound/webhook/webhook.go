package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/reveille-run/reveille/adapters/identity/signature"
	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/secret"
)

// Options configures a publisher. URL and one of Secret and Source are required.
type Options struct {
	// URL is an https address. It must resolve to an address of the public internet, or be
	// listed in REVEILLE_EGRESS_ALLOW, which also allows http. Nothing is sent through a
	// proxy or after a redirect.
	URL    string
	Secret secret.String // see [signature.ReadKeys]
	Source secret.Source // in place of Secret: asked at each attempt
	// Loopback lets the URL name this machine too, by http or https, as localhost or by its
	// address: for a host that runs here.
	Loopback bool
	Timeout  time.Duration // of an attempt; 0: 10 s
	Env      *env.Env      // for the time of an attempt; nil: the system's
}

// publisher implements mailbox.Publisher.
type publisher struct {
	url    string
	keys   signature.Keys
	source secret.Source // of keys; nil: they stay
	client *egress.Client
	env    *env.Env
}

// New returns a publisher, safe for concurrent use. An invalid address or secret is an error of code
// invalid.
func New(o Options) (mailbox.Publisher, error) {
	rules, err := egress.Read(egress.Options{Loopback: o.Loopback})
	var u *url.URL
	if err == nil {
		u, err = url.Parse(o.URL)
	}
	if err == nil {
		err = rules.Check(u)
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
	client := rules.Client(egress.Limits{Timeout: o.Timeout})
	return &publisher{url: o.URL, keys: keys, source: o.Source, client: client, env: o.Env}, nil
}

// Publish implements mailbox.Publisher.
func (w *publisher) Publish(ctx context.Context, a mailbox.Announcement) error {
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
		return core.Errorf(core.CodeInvalid, "webhook: the address is not valid")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "reveille")
	keys.Sign(request.Header, a.ID, w.env.Now(), body)
	response, err := w.client.Do(request)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection is used again; what it says does not count
	if text := egress.Redirect(response); text != "" {
		return core.Errorf(core.CodeUnavailable, "webhook: status %d: %s", response.StatusCode, text)
	}
	if response.StatusCode/100 != 2 {
		return core.Errorf(core.CodeUnavailable, "webhook: status %d", response.StatusCode)
	}
	return nil
}

// newest are the keys as they are now.
func (w *publisher) newest(ctx context.Context) (signature.Keys, error) {
	if w.source == nil {
		return w.keys, nil
	}
	text, err := w.source(ctx, secret.String{})
	if err != nil {
		return nil, err
	}
	return signature.ReadKeys(text)
}
