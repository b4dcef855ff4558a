package secrets

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/internal/awsapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

const (
	// maxAge is how old a value may be before it is read again.
	maxAge = 5 * time.Minute
	// pause is how long a read that failed, or brought what was refused, is not repeated
	// while there is a value.
	pause = 10 * time.Second
	// maxKept is the largest number of cached values; then the cache is emptied.
	maxKept = 1024
)

// Reader reads secrets and caches them. It is safe for concurrent use.
type Reader struct {
	manager    *awsapi.Service
	parameters *awsapi.Service
	now        func() time.Time
	log        *slog.Logger

	mu     sync.Mutex
	kept   map[name]*kept
	opened []name // by Source, without {tenant}
}

// Options configures a [Reader]. The zero value works.
type Options struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default
}

// New returns a reader that connects to the services as the environment configures it.
// AWS_ENDPOINT_URL_SECRETS_MANAGER and AWS_ENDPOINT_URL_SSM replace the region's
// endpoints.
func New(c awsenv.Config, o Options) (*Reader, error) {
	r := &Reader{now: o.Now, log: o.Logger, kept: map[name]*kept{}}
	if r.now == nil {
		r.now = time.Now
	}
	if r.log == nil {
		r.log = slog.Default()
	}
	var err error
	r.manager, err = awsapi.New(c, awsapi.Options{Title: "Secrets Manager", Signing: "secretsmanager", Endpoint: "AWS_ENDPOINT_URL_SECRETS_MANAGER", Now: r.now})
	if err != nil {
		return nil, err
	}
	r.parameters, err = awsapi.New(c, awsapi.Options{Title: "Systems Manager", Signing: "ssm", Endpoint: "AWS_ENDPOINT_URL_SSM", Now: r.now})
	return r, err
}

// Source returns the source of a secret: its name or ARN in Secrets Manager, or "ssm:"
// and the name of a parameter. "{tenant}" in the name is replaced by the tenant of the
// context. "#FIELD" at the end selects a string of the JSON object that the secret is.
// Source reads nothing yet.
func (r *Reader) Source(text string) (secret.Source, error) {
	parsed, err := parse(text)
	if err != nil {
		return nil, err
	}
	if parsed.fixed() {
		r.mu.Lock()
		r.opened = append(r.opened, parsed)
		r.mu.Unlock()
	}
	return func(ctx context.Context, refused secret.String) (secret.String, error) {
		n, err := parsed.of(ctx)
		if err != nil {
			return secret.String{}, err
		}
		return r.value(ctx, n, refused)
	}, nil
}

// Refresh starts to read the opened secrets that are missing or older than five minutes,
// concurrently with the caller's work. It omits secrets of single tenants, whose names
// are not known yet. wait returns when the reads are done, so that no read outlives the
// caller's invocation. If a read fails, the first use of the value tries again and
// returns the error.
func (r *Reader) Refresh(ctx context.Context) (wait func()) {
	var group sync.WaitGroup
	for _, n := range r.stale() {
		group.Go(func() { _, _ = r.value(context.WithoutCancel(ctx), n, secret.String{}) })
	}
	return group.Wait
}

// stale are the opened names whose values would be read if they were used now.
func (r *Reader) stale() (names []name) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, n := range r.opened {
		if k := r.kept[n]; k == nil || k.value.IsZero() || now.Sub(k.read) >= maxAge && !now.Before(k.again) {
			names = append(names, n)
		}
	}
	return names
}

// kept is what is known of a secret, under the reader's lock.
type kept struct {
	value   secret.String
	read    time.Time // when value was
	again   time.Time // no read before, while there is a value
	reading *reading  // nil: no read is under way
}

// reading is a read that others wait for.
type reading struct {
	done chan struct{}
	err  error
}

// value returns a secret, and reads it if it is missing, old or refused. Concurrent
// callers share one read.
func (r *Reader) value(ctx context.Context, n name, refused secret.String) (secret.String, error) {
	r.mu.Lock()
	k := r.kept[n]
	if k == nil {
		if len(r.kept) >= maxKept {
			clear(r.kept)
		}
		k = &kept{}
		r.kept[n] = k
	}
	now := r.now()
	wrong := !refused.IsZero() && k.value.Equal(refused)
	if !k.value.IsZero() && (!wrong && now.Sub(k.read) < maxAge || now.Before(k.again)) {
		defer r.mu.Unlock()
		return k.value, nil
	}
	under, first := k.reading, k.reading == nil
	if first {
		under = &reading{done: make(chan struct{})}
		k.reading = under
	}
	r.mu.Unlock()
	if first {
		r.read(ctx, n, k, under, refused)
	}
	select {
	case <-under.done:
	case <-ctx.Done():
		return secret.String{}, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.value.IsZero() {
		return secret.String{}, under.err
	}
	return k.value, nil
}

// read reads a secret for all waiting callers, even if the context of its own caller
// ends.
func (r *Reader) read(ctx context.Context, n name, k *kept, under *reading, refused secret.String) {
	value, err := r.fetch(context.WithoutCancel(ctx), n)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(under.done)
	k.reading, under.err = nil, err
	now := r.now()
	if err == nil {
		if value.Equal(refused) {
			k.again = now.Add(pause)
		}
		k.value, k.read = value, now
		return
	}
	k.again = now.Add(pause)
	if !k.value.IsZero() {
		r.log.WarnContext(ctx, "reading secret failed, using last value", "secret", n.text(), "age", now.Sub(k.read).Round(time.Second).String(), "error", err)
	}
}

// fetch asks the service.
func (r *Reader) fetch(ctx context.Context, n name) (secret.String, error) {
	service, operation := r.manager, "secretsmanager.GetSecretValue"
	body, err := json.Marshal(map[string]any{"SecretId": n.id})
	if n.parameter {
		service, operation = r.parameters, "AmazonSSM.GetParameter"
		body, err = json.Marshal(map[string]any{"Name": n.id, "WithDecryption": true})
	}
	if err != nil {
		return secret.String{}, err
	}
	response, err := service.Target(ctx, operation, body)
	if err != nil {
		return secret.String{}, core.Errorf(core.CodeUnavailable, "read secret %s: %w", n.text(), err)
	}
	var got struct {
		SecretString string
		SecretBinary []byte
		Parameter    struct{ Value string }
		Type         string `json:"__type"`
	}
	if err := json.Unmarshal(response.Body, &got); err != nil && response.Status == http.StatusOK {
		return secret.String{}, core.Errorf(core.CodeUnavailable, "read secret %s: the response is not JSON", n.text())
	}
	if response.Status != http.StatusOK {
		return secret.String{}, refusal(n, response.Status, got.Type)
	}
	text, err := n.pick(got.SecretString + string(got.SecretBinary) + got.Parameter.Value) // one of them
	if err != nil {
		return secret.String{}, core.Errorf(core.CodeInternal, "read secret %s: %w", n.text(), err)
	}
	if text == "" {
		return secret.String{}, core.Errorf(core.CodeInternal, "read secret %s: it is empty", n.text())
	}
	return secret.New(text), nil
}

// refusal is the error of a status; kind is what the service calls it, with a prefix or
// without. It passes by itself only when the service is busy or out of order.
func refusal(n name, status int, kind string) error {
	kind = kind[strings.LastIndex(kind, "#")+1:]
	code := core.CodeInternal
	if status >= 500 || status == http.StatusTooManyRequests || kind == "ThrottlingException" || kind == "InternalServiceError" {
		code = core.CodeUnavailable
	}
	return core.Errorf(code, "read secret %s: status %d %s", n.text(), status, core.Excerpt(kind))
}
