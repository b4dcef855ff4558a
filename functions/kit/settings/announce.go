package settings

import (
	"net/url"
	"strings"
)

// Announces reports whether what happens to runs is to be told.
func (s Settings) Announces() bool { return s.WebhookURL != "" || s.EventBus != "" }

// hookAddress takes the address of a webhook. It may have a query: that is where many
// receivers want their token.
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

// withoutToken is the value of a variable as an error may quote it: the query of a
// webhook's address may be a token.
func withoutToken(name, value string) string {
	if name == "REVEILLE_WEBHOOK_URL" {
		value, _, _ = strings.Cut(value, "?")
	}
	return value
}
