package rules

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/secret"
)

// routePrefix is where the route lies.
const routePrefix = "/v1/triggers/"

// maxBody is the most bytes of a body.
const maxBody = 1 << 20

// RouteOptions configures [Set.Routes].
type RouteOptions struct {
	// Next serves other paths than those of triggers; nil: they are not found.
	Next http.Handler
	Env  *env.Env // required
	// Secret returns an environment variable, such as os.Getenv. Required when a
	// trigger is of source webhook.
	Secret func(name string) string
	// Source opens the secret whose name a variable holds: WEBHOOK_SECRET_NAME, or the
	// Secret of a trigger with the suffix _NAME. nil: no variable holds a name.
	Source func(name string) (secret.Source, error)
	// Read splits a body into events, for triggers of other sources; nil: these are not
	// found.
	Read func(json.RawMessage) ([]incoming.Event, error)
}

type handler struct {
	RouteOptions
	triggers  *Set
	verifiers map[string]func(context.Context) (*verifier, error) // by the name of the trigger
}

// nameSuffix ends the variable that names a secret, as opposed to the one that holds it.
const nameSuffix = "_NAME"

// Routes returns the handler of the route that accepts events over HTTP:
//
//	POST /v1/triggers/{name}    an event for that trigger: 202 with its run
//
// For a trigger of source webhook, the signature of the body alone identifies the sender,
// so that the route precedes the authentication of callers. A wrong signature is 401.
// Events of other sources are accepted if Read is set, as on the local host, for test
// events.
//
// The response is {"status": "queued", "runs": [{"thread_id", "run_id", "dispatch_id",
// "duplicate"}]}, or {"status": "ignored", "runs": []} if the event does not match the
// trigger's filter. A body is JSON and has at most 1 MB.
//
// An error names the variable of a secret that is missing or malformed.
func (s *Set) Routes(o RouteOptions) (http.Handler, error) {
	h := &handler{RouteOptions: o, triggers: s, verifiers: map[string]func(context.Context) (*verifier, error){}}
	for _, t := range s.all() {
		if t.Webhook == nil {
			continue
		}
		v, err := o.verifier(*t.Webhook)
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "trigger %s: %w", t.Name, err)
		}
		h.verifiers[t.Name] = v
		if t.Webhook.HMAC != nil && t.Webhook.HMAC.replays() != "" {
			s.Logger.Warn("recorded webhooks can be sent again", "trigger", t.Name, "when", t.Webhook.HMAC.replays(), "remedy", "set webhook.hmac.timestamp if the sender signs a time")
		}
	}
	return h, nil
}

// verifier returns what knows the requests of a trigger: by the secret that its variable
// holds, or by one that is looked up at each request.
func (o RouteOptions) verifier(w webhook) (func(context.Context) (*verifier, error), error) {
	variable := w.Variable()
	name := o.Secret(variable + nameSuffix)
	if name == "" || o.Source == nil {
		v, err := newVerifier(w, o.Secret(variable))
		return func(context.Context) (*verifier, error) { return v, nil }, err
	}
	if o.Secret(variable) != "" {
		return nil, core.Errorf(core.CodeInvalid, "environment variables %s and %s%s are both set, set one of them", variable, variable, nameSuffix)
	}
	source, err := o.Source(name)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "environment variable %s%s: %w", variable, nameSuffix, err)
	}
	return func(ctx context.Context) (*verifier, error) {
		text, err := source(ctx, secret.String{})
		if err != nil {
			return nil, err
		}
		v, err := newVerifier(w, text.Reveal())
		if err != nil { // not the sender's fault
			err = core.Errorf(core.CodeInternal, "%w", err)
		}
		return v, err
	}, nil
}

// refusal is a status for which there is no code.
type refusal struct {
	status int
	error
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.Next != nil && !strings.HasPrefix(r.URL.Path, routePrefix) {
		h.Next.ServeHTTP(w, r)
		return
	}
	var response any
	err := env.Protect(func() (err error) {
		response, err = h.serve(w, r)
		return err
	})
	var special *refusal
	switch {
	case errors.As(err, &special):
		protocol.JSON(w, special.status, protocol.Public(special.error))
	case err != nil:
		protocol.Refuse(w, h.triggers.Logger, err)
	default:
		status := http.StatusAccepted
		if _, ok := response.(challenge); ok {
			status = http.StatusOK
		}
		protocol.JSON(w, status, response)
	}
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	name := strings.TrimPrefix(r.URL.Path, routePrefix)
	t, ok := h.triggers.find(name)
	if !ok || t.Source != incoming.Webhook && h.Read == nil {
		return nil, core.Errorf(core.CodeNotFound, "trigger %s not found", core.Excerpt(name))
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, core.Errorf(core.CodeMethod, "%s is not allowed here, allowed are POST", core.Excerpt(r.Method))
	}
	line := requestlog.Of(r.Context())
	line.Named("POST " + routePrefix + "{name}")
	line.Trigger(name)
	line.Tenant(t.Tenant)
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	if t.Source != incoming.Webhook {
		events, err := h.played(t, body)
		if err != nil {
			return nil, err
		}
		return h.fire(r, events)
	}
	v, err := h.verifiers[name](r.Context())
	if err != nil {
		return nil, err
	}
	id, err := v.verify(r.Header, body, h.Env.Now())
	if err != nil {
		return nil, err
	}
	if c, ok := asked(t, body); ok {
		return c, nil
	}
	data, err := eventOf(r, body, t.Webhook)
	if err != nil {
		return nil, err
	}
	return h.fire(r, []incoming.Event{{Source: incoming.Webhook, ID: id, Trigger: name, Data: data}})
}

// readBody reads the body as it was sent, which is what was signed.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")) {
		return nil, &refusal{http.StatusUnsupportedMediaType, core.Errorf(core.CodeUnsupported, "content type of an event must be application/json")}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &refusal{http.StatusRequestTimeout, core.Errorf(core.CodeInvalid, "the body of the request did not arrive in time")}
	}
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "read body: %w", err)
	}
	return body, nil
}

// played reads events that a person sends in the name of their source.
func (h *handler) played(t trigger, body []byte) ([]incoming.Event, error) {
	events, err := h.Read(body)
	if err != nil {
		return nil, err
	}
	for i, e := range events {
		if e.Source != t.Source {
			return nil, core.Errorf(core.CodeInvalid, "the event is of source %s, trigger %s accepts %s", e.Source, t.Name, t.Source)
		}
		if e.Trigger != "" && e.Trigger != t.Name {
			return nil, core.Errorf(core.CodeInvalid, "the event is for trigger %s, not for %s", core.Excerpt(e.Trigger), t.Name)
		}
		events[i].Trigger = t.Name
	}
	return events, nil
}

// secretive are headers that no prompt may contain: with a signature and the body, any
// reader of the thread could send the request again.
var secretive = []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Hub-Signature", "X-Hub-Signature-256", "X-Slack-Signature", "Webhook-Signature"}

// eventOf is what filters and templates see of a request.
func eventOf(r *http.Request, body []byte, w *webhook) (json.RawMessage, error) {
	if !json.Valid(body) {
		return nil, core.Errorf(core.CodeInvalid, "the body is not JSON")
	}
	header := r.Header.Clone()
	for _, name := range secretive {
		header.Del(name)
	}
	if w.HMAC != nil {
		header.Del(w.HMAC.Header)
	}
	headers := make(map[string]string, len(header))
	for name, values := range header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return core.EncodeJSON(struct {
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	}{headers, body})
}

// challenge is what Slack sends when an address is made known to it, and wants back.
type challenge struct {
	Type      string `json:"type,omitempty"`
	Challenge string `json:"challenge"`
}

// asked returns what to respond to a challenge.
func asked(t trigger, body []byte) (c challenge, ok bool) {
	if t.Webhook.Scheme != schemeSlack || json.Unmarshal(body, &c) != nil || c.Type != "url_verification" {
		return c, false
	}
	return challenge{Challenge: c.Challenge}, true
}

// accepted is the body of a 202.
type accepted struct {
	Status string `json:"status"` // queued or ignored
	Runs   []run  `json:"runs"`
}

type run struct {
	ThreadID   string  `json:"thread_id"`
	RunID      core.ID `json:"run_id"`
	DispatchID core.ID `json:"dispatch_id"`
	Duplicate  bool    `json:"duplicate"`
}

// fire passes the events to the triggers. If one fails, the earlier ones have started
// their runs: a sender that retries gets them as duplicates.
func (h *handler) fire(r *http.Request, events []incoming.Event) (accepted, error) {
	a := accepted{Status: "ignored", Runs: []run{}}
	for _, e := range events {
		receipts, err := h.triggers.Fire(r.Context(), e)
		if err != nil {
			h.triggers.Logger.WarnContext(r.Context(), "event failed", "source", e.Source, "event", e.ID, "trigger", e.Trigger, "error", err)
			return a, err
		}
		for _, receipt := range receipts {
			a.Runs = append(a.Runs, newRun(receipt))
		}
	}
	if len(a.Runs) > 0 {
		a.Status = "queued"
	}
	return a, nil
}

func newRun(r mailbox.Receipt) run {
	return run{ThreadID: r.ThreadID, RunID: r.RunID, DispatchID: r.DispatchID, Duplicate: r.Duplicate}
}
