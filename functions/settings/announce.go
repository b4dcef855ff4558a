package settings

import (
	"net/url"
	"regexp"
	"strings"
)

// Announces reports whether what happens to runs is to be told.
func (s Settings) Announces() bool { return s.WebhookURL != "" || s.EventBus != "" }

// busName is the name of an event bus, or its ARN. The name's length is not part of it:
// to compile that is most of what a function's start would take.
var busName = regexp.MustCompile(`^(?:arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?([A-Za-z0-9/._-]+)$`)

// isBus reports whether v is the name, of at most 256 characters, or ARN of an event bus.
func isBus(v string) bool {
	parts := busName.FindStringSubmatch(v)
	return parts != nil && len(parts[1]) <= 256
}

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
