package settings

import (
	"net/url"
	"strings"
)

// Announces reports whether the process sends notifications about runs.
func (s Settings) Announces() bool { return s.WebhookURL != "" || s.EventBus != "" }

// hookAddress takes the address of a webhook. It may have a query, since many receivers
// expect their token there.
func hookAddress(s *Settings, v string) error {
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Contains(v, "#")) {
		err = errForm
	}
	s.WebhookURL = v
	return err
}

// withoutToken returns the value of a variable for errors: without the query of a webhook's
// address, which may be a token.
func withoutToken(name, value string) string {
	if name == "REVEILLE_WEBHOOK_URL" {
		value, _, _ = strings.Cut(value, "?")
	}
	return value
}
