package rules

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	secrets "github.com/reveille-run/reveille/core/secret"
)

// chat is a trigger whose requests Slack signs.
func chat(t *testing.T) *Set {
	t.Helper()
	set, err := newSet([]trigger{
		{Name: "chat", Source: incoming.Webhook, Webhook: &webhook{Scheme: schemeSlack, Secret: "SLACK_SECRET"}, Prompt: "x"},
	}, Options{Runtime: &agents{}, Tenant: "acme", Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A secret that its variable only names is asked for at each request: one that was
// replaced counts from then on, and without it nobody is let in.
func TestSecretThatIsNamed(t *testing.T) {
	e := env.System()
	e.Now = func() time.Time { return now }
	var text string
	var away error
	routes, err := chat(t).Routes(RouteOptions{
		Env:    e,
		Secret: func(name string) string { return map[string]string{"SLACK_SECRET_NAME": "prod/slack"}[name] },
		Source: func(name string) (secrets.Source, error) {
			if name != "prod/slack" {
				t.Errorf("opened %q", name)
			}
			return func(context.Context, secrets.String) (secrets.String, error) { return secrets.New(text), away }, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text   string
		away   error
		status int
	}{
		{signingSecret, nil, 202},
		{"another", nil, 401},
		{"another " + signingSecret, nil, 202},
		{"", nil, 500},
		{signingSecret, core.Errorf(core.CodeUnavailable, "read secret prod/slack: status 500"), 503},
	} {
		text, away = step.text, step.away
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, signed("/v1/triggers/chat", `{}`))
		if w.Code != step.status || w.Code >= 500 && strings.Contains(w.Body.String(), "prod/slack") {
			t.Errorf("secret %q, %v: %d %s, want %d", step.text, step.away, w.Code, w.Body, step.status)
		}
	}
}

func TestNamesOfSecretsThatAreRefused(t *testing.T) {
	refuse := func(string) (secrets.Source, error) { return nil, errors.New("no name of a secret") }
	for _, test := range []struct {
		name   string
		env    map[string]string
		source func(string) (secrets.Source, error)
		want   string
	}{
		{"both", map[string]string{"SLACK_SECRET": "s", "SLACK_SECRET_NAME": "n"}, refuse, "trigger chat: environment variables SLACK_SECRET and SLACK_SECRET_NAME are both set, set one of them"},
		{"no name", map[string]string{"SLACK_SECRET_NAME": "a b"}, refuse, "trigger chat: environment variable SLACK_SECRET_NAME: no name of a secret"},
		{"nowhere to look", map[string]string{"SLACK_SECRET_NAME": "n"}, nil, "trigger chat: environment variable SLACK_SECRET is required: it is the secret that signs requests"},
	} {
		_, err := chat(t).Routes(RouteOptions{Env: env.System(), Secret: func(name string) string { return test.env[name] }, Source: test.source})
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}
