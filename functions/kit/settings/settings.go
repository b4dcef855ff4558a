// Package settings reads the configuration of a process from its environment:
// the variables with the prefix REVEILLE_, and the names that providers and the
// AWS SDK already have. An unknown REVEILLE_ name or a bad value is an error
// that names it and what is allowed.
package settings

import (
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core/secret"
)

// Settings is the configuration of a process. README.md and template.yaml list
// the variables.
type Settings struct {
	Addr      string        // REVEILLE_ADDR: where the local host listens
	Hosts     []string      // REVEILLE_HOSTS: further names that the local host has in Host headers, in lower case
	Origins   []string      // REVEILLE_ORIGINS: origins of other sites whose pages may send requests, as browsers write them
	Page      string        // REVEILLE_PAGE: whether the page is shown at /, on or off; empty: as the host does by itself
	Data      string        // REVEILLE_DATA: the local host's database file, or "memory"
	Auth      string        // REVEILLE_AUTH: how requests are authenticated: none, iam, jwt, gateway, lambda; empty: not said
	Identity  Identity      // who they are taken for
	Model     string        // REVEILLE_MODEL: the model that app/models binds, as PROVIDER/NAME; package providers reads it
	Triggers  string        // REVEILLE_TRIGGERS: a file of triggers, or its JSON itself
	Catalog   string        // REVEILLE_MODEL_CATALOG: models over the built-in ones, a file or its JSON itself; package limits reads it
	Limits    string        // REVEILLE_LIMITS: what tenants may use, a file or its JSON itself; package limits reads it
	Steps     int           // REVEILLE_STEPS_PER_INVOCATION
	Lease     time.Duration // REVEILLE_LEASE: how long a claim holds without renewal
	Sweep     time.Duration // REVEILLE_SWEEP_INTERVAL: of the local host
	Requests  int           // REVEILLE_MAX_REQUESTS: how many requests the local host has under way at most, streams among them
	LogLevel  slog.Level    // REVEILLE_LOG_LEVEL
	Table     string        // REVEILLE_TABLE: the DynamoDB table of threads
	Config    string        // REVEILLE_CONFIG_TABLE: the DynamoDB table of profiles and configuration snapshots
	QueueURL  string        // REVEILLE_QUEUE_URL: the SQS queue of wake-ups
	Bucket    string        // REVEILLE_PAYLOAD_BUCKET: the S3 bucket of payloads that are too large for the table; empty: none
	StreamURL string        // REVEILLE_STREAM_URL: base address of the function that streams

	DeadLetterURL string // REVEILLE_DEAD_LETTER_QUEUE_URL: the SQS queue of dead wake-ups, which the sweep drains

	WebhookURL        string        // REVEILLE_WEBHOOK_URL: where what happens to runs is posted
	WebhookSecret     secret.String // REVEILLE_WEBHOOK_SECRET: signs it; checked by who uses it
	WebhookSecretName string        // REVEILLE_WEBHOOK_SECRET_NAME: the name of the secret that this is
	EventBus          string        // REVEILLE_EVENT_BUS: name or ARN of the event bus that it is put on

	UsageKeep time.Duration // REVEILLE_USAGE_DAYS: how long what runs have used is kept; 0: it is not recorded
	// UsageReaders are users who see what their whole tenant has used; "*": all. REVEILLE_USAGE_READERS
	UsageReaders []string
	Metrics      bool // REVEILLE_METRICS: functions on AWS write metrics into their logs
	Memory       int  // AWS_LAMBDA_FUNCTION_MEMORY_SIZE: of the function, in MB

	// CacheSize is how many bytes of conversations a process keeps in memory: a
	// quarter of AWS_LAMBDA_FUNCTION_MEMORY_SIZE, at least 8 MiB.
	CacheSize int

	Providers      []Provider // those of which the environment says something: OPENAI_API_KEY, ANTHROPIC_BASE_URL and so on
	ModelKeySecret string     // REVEILLE_MODEL_KEY_SECRET: the name of the secret that the key of Model's provider is
	ModelBaseURL   string     // REVEILLE_MODEL_BASE_URL: the address of Model's provider

	// Secret opens a secret by its name, as functions on AWS that use one do; nil
	// elsewhere. See [Settings.OpenSecret].
	Secret func(name string) (secret.Source, error)
}

// ShowsPage reports whether the page is shown, as REVEILLE_PAGE says.
func (s Settings) ShowsPage(byDefault bool) bool {
	if byDefault {
		return s.Page != "off"
	}
	return s.Page == "on"
}

// smallestCache is what even the smallest function spends on conversations.
const smallestCache = 8 << 20

// variable is one name of the environment.
type variable struct {
	name    string
	preset  string
	allowed string // for errors
	set     func(s *Settings, value string) error
}

func variables() []variable {
	return slices.Concat(ours(), usageVariables(), others(), providerVariables())
}

// ours are the others with our prefix.
func ours() []variable {
	return []variable{
		{"REVEILLE_ADDR", "127.0.0.1:3000", "host:port", text(func(s *Settings) *string { return &s.Addr })},
		{"REVEILLE_HOSTS", "", "names or addresses without port, with commas between them", list(func(s *Settings) *[]string { return &s.Hosts }, hostName)},
		{"REVEILLE_ORIGINS", "", "scheme://host[:port] as browsers write it, with commas between them", list(func(s *Settings) *[]string { return &s.Origins }, origin)},
		{"REVEILLE_PAGE", "", "on, off", oneOf(func(s *Settings) *string { return &s.Page }, "", "on", "off")},
		{"REVEILLE_DATA", ".reveille/reveille.db", `a file, or "memory"`, text(func(s *Settings) *string { return &s.Data })},
		{"REVEILLE_AUTH", "", "none, iam, jwt, gateway, lambda", oneOf(func(s *Settings) *string { return &s.Auth }, "", "none", "iam", "jwt", "gateway", "lambda")},
		{"REVEILLE_TENANT", "", "a name of A-Z a-z 0-9 . _ : -", name(func(s *Settings) *string { return &s.Identity.Tenant })},
		{"REVEILLE_TENANT_CLAIM", "", "the name of a claim", text(func(s *Settings) *string { return &s.Identity.TenantClaim })},
		{"REVEILLE_USER_CLAIM", "", "the name of a claim", text(func(s *Settings) *string { return &s.Identity.UserClaim })},
		{"REVEILLE_TENANTS", "", "ID=TENANT, with commas between them; an ID is an identity pool's, AIDA..., AROA... or an account's 12 digits", tenants},
		{"REVEILLE_ISSUER", "", "an https address without query", secureAddress(func(s *Settings) *string { return &s.Identity.Issuer })},
		{"REVEILLE_KEYS_URL", "", "an https address without query", secureAddress(func(s *Settings) *string { return &s.Identity.KeysURL })},
		{"REVEILLE_CLIENTS", "", "client ids or audiences, with commas between them", list(func(s *Settings) *[]string { return &s.Identity.Clients }, given)},
		{"REVEILLE_TOKEN_USE", "id", "id, access", oneOf(func(s *Settings) *string { return &s.Identity.TokenUse }, "id", "access")},
		{"REVEILLE_MODEL", "", "PROVIDER/NAME", text(func(s *Settings) *string { return &s.Model })},
		{"REVEILLE_MODEL_KEY_SECRET", "", "the name of a secret", text(func(s *Settings) *string { return &s.ModelKeySecret })},
		{"REVEILLE_MODEL_BASE_URL", "", addressAllowed, address(func(s *Settings) *string { return &s.ModelBaseURL })},
		{"REVEILLE_TRIGGERS", "", "a file, or its JSON", text(func(s *Settings) *string { return &s.Triggers })},
		{"REVEILLE_MODEL_CATALOG", "", "a file, or its JSON", text(func(s *Settings) *string { return &s.Catalog })},
		{"REVEILLE_LIMITS", "", "a file, or its JSON", text(func(s *Settings) *string { return &s.Limits })},
		{"REVEILLE_STEPS_PER_INVOCATION", "1", "1 to 100", func(s *Settings, v string) (err error) {
			if s.Steps, err = strconv.Atoi(v); err == nil && (s.Steps < 1 || s.Steps > 100) {
				err = strconv.ErrRange
			}
			return err
		}},
		{"REVEILLE_LEASE", "30s", "a duration from 1s to 15m", duration(func(s *Settings) *time.Duration { return &s.Lease }, time.Second, 15*time.Minute)},
		{"REVEILLE_SWEEP_INTERVAL", "5s", "a duration from 10ms to 10m", duration(func(s *Settings) *time.Duration { return &s.Sweep }, 10*time.Millisecond, 10*time.Minute)},
		{"REVEILLE_MAX_REQUESTS", "4096", "1 to 1000000", func(s *Settings, v string) (err error) {
			if s.Requests, err = strconv.Atoi(v); err == nil && (s.Requests < 1 || s.Requests > 1_000_000) {
				err = strconv.ErrRange
			}
			return err
		}},
		{"REVEILLE_LOG_LEVEL", "info", "debug, info, warn, error", func(s *Settings, v string) error { return s.LogLevel.UnmarshalText([]byte(v)) }},
		{"REVEILLE_TABLE", "", "a table name", text(func(s *Settings) *string { return &s.Table })},
		{"REVEILLE_CONFIG_TABLE", "", "a table name", text(func(s *Settings) *string { return &s.Config })},
		{"REVEILLE_QUEUE_URL", "", addressAllowed, address(func(s *Settings) *string { return &s.QueueURL })},
		{"REVEILLE_DEAD_LETTER_QUEUE_URL", "", addressAllowed, address(func(s *Settings) *string { return &s.DeadLetterURL })},
		{"REVEILLE_PAYLOAD_BUCKET", "", "the name of a bucket", func(s *Settings, v string) error {
			if s.Bucket = v; v != "" && !isBucket(v) {
				return errForm
			}
			return nil
		}},
		{"REVEILLE_STREAM_URL", "", addressAllowed, address(func(s *Settings) *string { return &s.StreamURL })},
		{"REVEILLE_WEBHOOK_URL", "", "an https URL without user and fragment; on the local host http too, for addresses of this machine", hookAddress},
		{"REVEILLE_WEBHOOK_SECRET", "", "whsec_ and base64", func(s *Settings, v string) error {
			s.WebhookSecret = secret.New(v)
			return nil
		}},
		{"REVEILLE_WEBHOOK_SECRET_NAME", "", "the name of a secret, beside no REVEILLE_WEBHOOK_SECRET", func(s *Settings, v string) error {
			if s.WebhookSecretName = v; v != "" && !s.WebhookSecret.IsZero() {
				return errForm
			}
			return nil
		}},
		{"REVEILLE_EVENT_BUS", "", "the name or ARN of an event bus", func(s *Settings, v string) error {
			if s.EventBus = v; v != "" && !isBus(v) {
				return errForm
			}
			return nil
		}},
	}
}

// usageVariables are those of what is recorded of what runs use.
func usageVariables() []variable {
	return []variable{
		{"REVEILLE_USAGE_DAYS", "396", "0 (nothing is recorded) to 3660", func(s *Settings, v string) error {
			days, err := strconv.ParseUint(v, 10, 32)
			if err == nil && days > 3660 {
				err = errForm
			}
			s.UsageKeep = time.Duration(days) * 24 * time.Hour
			return err
		}},
		{"REVEILLE_USAGE_READERS", "", "users as their tokens or roles name them, or *, with commas between them", list(func(s *Settings) *[]string { return &s.UsageReaders }, user)},
		{"REVEILLE_METRICS", "off", "on, off", func(s *Settings, v string) error {
			if s.Metrics = v == "on"; v != "on" && v != "off" {
				return errForm
			}
			return nil
		}},
	}
}

// others are those whose names are the platform's.
func others() []variable {
	return []variable{
		{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256", "a number of megabytes", func(s *Settings, v string) error {
			megabytes, err := strconv.ParseUint(v, 10, 20)
			s.Memory = int(megabytes)
			s.CacheSize = max(smallestCache, int(megabytes)<<20/4)
			return err
		}},
	}
}

// Read reads "NAME=value" pairs as os.Environ gives them. An empty value counts
// as not set. also are further REVEILLE_ names that the program knows itself.
func Read(environ []string, also ...string) (Settings, error) {
	given := make(map[string]string, len(environ))
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		given[name] = value
	}
	var s Settings
	known := also
	for _, v := range variables() {
		known = append(known, v.name)
		value := given[v.name]
		if value == "" {
			value = v.preset
		}
		if err := v.set(&s, value); err != nil {
			return Settings{}, fmt.Errorf("environment variable %s is %q, allowed: %s", v.name, harmless(withoutToken(v.name, value)), v.allowed)
		}
	}
	var unknown []string
	for name := range given {
		if strings.HasPrefix(name, "REVEILLE_") && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		known = slices.DeleteFunc(known, func(name string) bool { return !strings.HasPrefix(name, "REVEILLE_") })
		return Settings{}, fmt.Errorf("unknown environment variable %s, known are: %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
	}
	return s, nil
}

// OpenSecret returns the source of a secret. The error says so where there is no store of
// secrets: the local host reads keys from its environment.
func (s Settings) OpenSecret(name string) (secret.Source, error) {
	if s.Secret == nil {
		return nil, fmt.Errorf("secret %q: secrets are read by functions on AWS that use them, and here nobody does", name)
	}
	return s.Secret(name)
}

func text(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		*field(s) = v
		return nil
	}
}

// addressAllowed is what address takes.
const addressAllowed = "an http or https URL without user, query and fragment"

// address takes a URL to which paths can be added. A bad one must fail at start:
// most are used only when somebody asks for what is behind them.
func address(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if v == "" {
			return nil
		}
		u, err := url.Parse(v)
		if err != nil {
			return err
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(v, "?#") {
			return strconv.ErrRange
		}
		*field(s) = v
		return nil
	}
}

// harmless is a value as an error may show it: without the password of a URL.
func harmless(value string) string {
	if !strings.Contains(value, "@") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return "..."
	}
	return u.Redacted()
}

func oneOf(field func(*Settings) *string, allowed ...string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if !slices.Contains(allowed, v) {
			return strconv.ErrRange
		}
		*field(s) = v
		return nil
	}
}

func duration(field func(*Settings) *time.Duration, least, most time.Duration) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		d, err := time.ParseDuration(v)
		if err == nil && (d < least || d > most) {
			err = strconv.ErrRange
		}
		*field(s) = d
		return err
	}
}
