package rules

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core"
)

// trigger defines which events start a run, and which run.
type trigger struct {
	Name   string          `json:"name,omitempty"`   // unique, without colons; what a schedule's event and the route of a webhook name
	Source incoming.Source `json:"source,omitempty"` // where its events come from
	// Filter is a pattern that an event must match, as JSON: see the package comment.
	// nil: every event of the source.
	Filter json.RawMessage `json:"filter,omitempty"`

	Agent  string `json:"agent,omitempty"`  // empty: the deployment's default agent
	Tenant string `json:"tenant,omitempty"` // whose run it is; empty: [Options.Tenant]
	User   string `json:"user,omitempty"`   // on whose behalf; empty: unowned, which every user of the tenant may read

	Thread string `json:"thread,omitempty"` // template of the thread's id; empty: a new thread for each event
	Prompt string `json:"prompt,omitempty"` // template of the message that the run begins with
	// Key is the template of what the event is known by when it comes again; empty:
	// the source's own id of it.
	Key string `json:"key,omitempty"`

	// schedule is when the local host fires a trigger of source schedule:
	// "rate(5 minutes)" or "cron(0 9 ? * MON-FRI *)", in UTC; see [parseSchedule].
	// Empty: never. On AWS the deployment's schedule does, by the trigger's name.
	Schedule string   `json:"schedule,omitempty"`
	Webhook  *webhook `json:"webhook,omitempty"` // of source webhook, which requires it
}

// webhook defines the signature of requests to a trigger.
type webhook struct {
	Scheme scheme `json:"scheme,omitempty"`
	// Secret is the name of the environment variable that holds the secret, or several,
	// separated by spaces, during a rotation. Empty: [defaultSecret]. The secret itself
	// is never in a trigger.
	Secret string   `json:"secret,omitempty"`
	HMAC   *signing `json:"hmac,omitempty"` // of scheme hmac, which requires it
}

// defaultSecret is the variable of a [webhook] that names none.
const defaultSecret = "WEBHOOK_SECRET"

// scheme is a way in which webhooks are signed.
type scheme string

// The schemes; each signs the body as it was sent, with HMAC.
const (
	schemeGitHub   scheme = "github"   // X-Hub-Signature-256, X-GitHub-Delivery
	schemeStandard scheme = "standard" // Standard Webhooks: webhook-id, webhook-timestamp, webhook-signature
	schemeSlack    scheme = "slack"    // X-Slack-Request-Timestamp, X-Slack-Signature
	schemeHMAC     scheme = "hmac"     // as [signing] says
)

// Variable is the name of the environment variable that holds the secret.
func (w webhook) Variable() string {
	if w.Secret == "" {
		return defaultSecret
	}
	return w.Secret
}

func (w webhook) check() error {
	switch w.Scheme {
	case schemeGitHub, schemeStandard, schemeSlack:
		if w.HMAC != nil {
			return at("webhook.hmac", fmt.Errorf("belongs to scheme hmac, this is %s", w.Scheme))
		}
	case schemeHMAC:
		if w.HMAC == nil {
			return at("webhook.hmac", fmt.Errorf("is required for scheme hmac, such as {%q: %q}", "header", "X-Signature"))
		}
		if err := w.HMAC.check(); err != nil {
			return err
		}
	default:
		return at("webhook.scheme", fmt.Errorf("%q is unknown, allowed are github, standard, slack, hmac", core.Excerpt(string(w.Scheme))))
	}
	name := w.Variable()
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return at("webhook.secret", fmt.Errorf("%q is not the name of an environment variable, allowed are A-Z 0-9 _", core.Excerpt(name)))
		}
	}
	if strings.HasPrefix(name, "REVEILLE_") || strings.HasPrefix(name, "AWS_") {
		return at("webhook.secret", fmt.Errorf("%q is a setting, allowed are names that begin with neither REVEILLE_ nor AWS_", name))
	}
	return nil
}

// compiled is a trigger that is ready to take events.
type compiled struct {
	trigger
	filter              *pattern // nil: everything
	thread, prompt, key *text    // nil: not given
}

func compile(t trigger) (c *compiled, err error) {
	c = &compiled{trigger: t}
	if err := core.CheckName("name", t.Name); err != nil {
		return nil, err
	}
	if strings.Contains(t.Name, ":") { // which ends it in the keys of its runs
		return nil, at("name", fmt.Errorf("%q has the character ':', allowed are A-Z a-z 0-9 . _ -", core.Excerpt(t.Name)))
	}
	if err := t.checkSource(); err != nil {
		return nil, err
	}
	if t.Filter != nil {
		if c.filter, err = parsePattern(t.Filter); err != nil {
			return nil, err
		}
	}
	if t.Prompt == "" {
		return nil, at("prompt", fmt.Errorf("is required"))
	}
	for _, part := range []struct {
		name, template string
		into           **text
	}{{"thread", t.Thread, &c.thread}, {"prompt", t.Prompt, &c.prompt}, {"key", t.Key, &c.key}} {
		if part.template == "" {
			continue
		}
		if *part.into, err = parseText(part.name, part.template); err != nil {
			return nil, at(part.name, err)
		}
	}
	return c, nil
}

// checkSource refuses what does not belong to the trigger's source.
func (t trigger) checkSource() error {
	switch t.Source {
	case incoming.EventBridge, incoming.S3, incoming.SNS, incoming.SQS, incoming.DynamoDB, incoming.Schedule, incoming.Webhook:
	case "":
		return at("source", fmt.Errorf("is required, allowed are %s", incoming.Sources))
	default:
		return at("source", fmt.Errorf("%q is unknown, allowed are %s", core.Excerpt(string(t.Source)), incoming.Sources))
	}
	if t.Schedule != "" {
		if t.Source != incoming.Schedule {
			return at("schedule", fmt.Errorf("belongs to source schedule, this is %s", t.Source))
		}
		if _, err := parseSchedule(t.Schedule); err != nil {
			return at("schedule", err)
		}
	}
	switch {
	case t.Source == incoming.Schedule && t.Filter != nil:
		return at("filter", fmt.Errorf("has no meaning for source schedule, whose events name their trigger"))
	case t.Source == incoming.Webhook && t.Webhook == nil:
		return at("webhook", fmt.Errorf("is required for source webhook"))
	case t.Source != incoming.Webhook && t.Webhook != nil:
		return at("webhook", fmt.Errorf("belongs to source webhook, this is %s", t.Source))
	case t.Webhook != nil:
		return t.Webhook.check()
	}
	return nil
}

// at adds the part of a trigger that an error is about.
func at(part string, err error) error {
	return core.Errorf(core.CodeInvalid, "%s %w", part, err)
}
