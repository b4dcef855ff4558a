// Package announce makes the publisher of the settings of a process.
package announce

import (
	"fmt"

	"github.com/reveille-run/reveille/adapters/identity/signature"
	"github.com/reveille-run/reveille/adapters/outbound/webhook"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Webhook returns the publisher to REVEILLE_WEBHOOK_URL, or nil if that is not set. loopback
// allows addresses of this machine, for the local host. An error names the variable.
func Webhook(s settings.Settings, e *env.Env, loopback bool) (mailbox.Publisher, error) {
	if s.WebhookURL == "" {
		switch {
		case !s.WebhookSecret.IsZero():
			return nil, fmt.Errorf("environment variable REVEILLE_WEBHOOK_SECRET is set without REVEILLE_WEBHOOK_URL")
		case s.WebhookSecretName != "":
			return nil, fmt.Errorf("environment variable REVEILLE_WEBHOOK_SECRET_NAME is set without REVEILLE_WEBHOOK_URL")
		}
		return nil, nil
	}
	var source secret.Source
	if s.WebhookSecretName != "" {
		var err error
		if source, err = s.OpenSecret(s.WebhookSecretName); err != nil {
			return nil, fmt.Errorf("environment variable REVEILLE_WEBHOOK_SECRET_NAME: %w", err)
		}
	} else if _, err := signature.ReadKeys(s.WebhookSecret); err != nil {
		return nil, fmt.Errorf("environment variable REVEILLE_WEBHOOK_SECRET: %w", err)
	}
	hook, err := webhook.New(webhook.Options{
		URL: s.WebhookURL, Secret: s.WebhookSecret, Source: source, Loopback: loopback, Env: e,
	})
	if err != nil {
		return nil, fmt.Errorf("environment variable REVEILLE_WEBHOOK_URL: %w", err)
	}
	return hook, nil
}

// All returns a publisher to each of the publishers that are not nil, or nil if all are nil.
// An announcement is published if all publishers succeed. After a failure, all get it again.
func All(publishers ...mailbox.Publisher) mailbox.Publisher {
	var all several
	for _, p := range publishers {
		if p != nil {
			all = append(all, p)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}
