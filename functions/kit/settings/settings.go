// Package settings reads the configuration of a process from its environment: the
// variables with the prefix REVEILLE_, the keys and addresses of providers, and the memory
// that Lambda sets. An unknown REVEILLE_ name or a bad value is an error with the name, the
// value and the allowed values. [Variables] lists all variables, as README.md does.
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

// Settings is the configuration of a process. [Variables] describes the variables.
type Settings struct {
	Addr      string        // REVEILLE_ADDR
	Hosts     []string      // REVEILLE_HOSTS, in lower case
	Origins   []string      // REVEILLE_ORIGINS
	Page      string        // REVEILLE_PAGE: on, off or empty; see [Settings.ShowsPage]
	Models    string        // REVEILLE_SHOW_MODELS: on, off or empty; see [Settings.ShowsModels]
	Sent      string        // REVEILLE_SHOW_REQUESTS: on, off or empty; see [Settings.ShowsRequests]
	Data      string        // REVEILLE_DATA: a file, or "memory"
	Auth      string        // REVEILLE_AUTH: empty if it is not set
	Identity  Identity      // the tenants and users of requests
	Model     string        // REVEILLE_MODEL; package providers reads it
	Agents    string        // REVEILLE_AGENTS: a folder; package agentfiles reads it
	Triggers  string        // REVEILLE_TRIGGERS: a file, or its JSON
	Stack     string        // REVEILLE_STACK: the ARN of the stack, or its name
	Catalog   string        // REVEILLE_MODEL_CATALOG: a file, or its JSON; package limits reads it
	Unknown   int           // REVEILLE_UNKNOWN_WINDOW: tokens, see agent.Parts.UnknownWindow; 0: its default
	Limits    string        // REVEILLE_LIMITS: a file, or its JSON; package limits reads it
	Steps     int           // REVEILLE_STEPS_PER_INVOCATION
	Lease     time.Duration // REVEILLE_LEASE
	Sweep     time.Duration // REVEILLE_SWEEP_INTERVAL
	Requests  int           // REVEILLE_MAX_REQUESTS
	MaxBody   int           // REVEILLE_MAX_BODY, in bytes
	LogLevel  slog.Level    // REVEILLE_LOG_LEVEL
	Table     string        // REVEILLE_TABLE
	Config    string        // REVEILLE_CONFIG_TABLE
	QueueURL  string        // REVEILLE_QUEUE_URL
	Bucket    string        // REVEILLE_PAYLOAD_BUCKET: empty if all payloads are in the table
	StreamURL string        // REVEILLE_STREAM_URL

	DeadLetterURL string // REVEILLE_DEAD_LETTER_QUEUE_URL

	Environment string // REVEILLE_ENVIRONMENT: the file of variables of tools; empty: none

	WebhookURL        string        // REVEILLE_WEBHOOK_URL
	WebhookSecret     secret.String // REVEILLE_WEBHOOK_SECRET; package announce checks its form
	WebhookSecretName string        // REVEILLE_WEBHOOK_SECRET_NAME
	EventBus          string        // REVEILLE_EVENT_BUS: a name or an ARN

	UsageKeep    time.Duration // REVEILLE_USAGE_DAYS: 0 if no usage is recorded
	UsageReaders []string      // REVEILLE_USAGE_READERS: "*" means all users
	Memory       int           // AWS_LAMBDA_FUNCTION_MEMORY_SIZE, in MB

	// CacheSize is the number of bytes of conversations that a process caches: a quarter of
	// AWS_LAMBDA_FUNCTION_MEMORY_SIZE, at least 8 MiB.
	CacheSize int

	Providers      []Provider // the providers with a key or an address in the environment
	ModelKeySecret string     // REVEILLE_MODEL_KEY_SECRET
	ModelBaseURL   string     // REVEILLE_MODEL_BASE_URL
	Proxy          bool       // REVEILLE_EGRESS_PROXY

	// Misnamed has the variables whose names are close to the name of a provider's key, with
	// that name.
	Misnamed map[string]string

	// Secret opens a secret by its name. It is nil where there is no store of secrets, as
	// on the local host. See [Settings.OpenSecret].
	Secret func(name string) (secret.Source, error)
}

// ShowsPage reports whether the page is shown. byDefault applies if REVEILLE_PAGE is not set.
func (s Settings) ShowsPage(byDefault bool) bool { return on(s.Page, byDefault) }

// ShowsModels reports whether callers are shown which models of which providers respond.
// byDefault applies if REVEILLE_SHOW_MODELS is not set.
func (s Settings) ShowsModels(byDefault bool) bool { return on(s.Models, byDefault) }

// ShowsRequests reports whether owners of threads are shown the requests that models
// received. byDefault applies if REVEILLE_SHOW_REQUESTS is not set.
func (s Settings) ShowsRequests(byDefault bool) bool { return on(s.Sent, byDefault) }

// on reads a switch: on, off, or empty for its default.
func on(value string, byDefault bool) bool {
	if byDefault {
		return value != "off"
	}
	return value == "on"
}

// smallestCache is the size of the cache of the smallest function.
const smallestCache = 8 << 20

// Read reads "NAME=value" pairs in the form of os.Environ. An empty value is the same as
// no value. also are further REVEILLE_ names that the program reads itself.
func Read(environ []string, also ...string) (Settings, error) {
	given := make(map[string]string, len(environ))
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		given[name] = value
	}
	var s Settings
	known := append(make([]string, 0, 128), also...)
	for _, g := range groups() {
		for i := range g.variables {
			v := &g.variables[i]
			known = append(known, v.Name)
			value := given[v.Name]
			if value == "" {
				value = v.Default
			}
			if err := v.set(&s, value); err != nil {
				return Settings{}, v.wrong(value)
			}
		}
	}
	if err := checkNames(given, known); err != nil {
		return Settings{}, err
	}
	s.Misnamed = misnamed(given)
	return s, nil
}

// OpenSecret returns the source of a secret. It fails where there is no store of secrets:
// the local host reads keys from its environment.
func (s Settings) OpenSecret(name string) (secret.Source, error) {
	if s.Secret == nil {
		return nil, fmt.Errorf("secret %q: only functions on AWS that call models or sign notifications can read secrets", name)
	}
	return s.Secret(name)
}

func text(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		*field(s) = v
		return nil
	}
}

// addressAllowed describes the values that address takes.
const addressAllowed = "an http or https URL without user, query and fragment"

// address takes a URL to which paths can be added. A bad one must fail at start: a process
// may use its addresses much later.
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

// harmless returns a value without the password of a URL, for errors.
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

// formed takes nothing, or a value of a form.
func formed(field func(*Settings) *string, is func(string) bool) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if *field(s) = v; v != "" && !is(v) {
			return errForm
		}
		return nil
	}
}

// number takes an integer from 1 to most.
func number(field func(*Settings) *int, most int) func(*Settings, string) error {
	return between(field, 1, most)
}

// between takes an integer from least to most.
func between(field func(*Settings) *int, least, most int) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		n, err := strconv.Atoi(v)
		if err == nil && (n < least || n > most) {
			err = strconv.ErrRange
		}
		*field(s) = n
		return err
	}
}

// size takes a number of bytes from least to most. The suffixes KB and MB multiply it by
// 1,024 and 1,048,576.
func size(field func(*Settings) *int, least, most int) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		unit := 1
		if digits, ok := strings.CutSuffix(v, "KB"); ok {
			v, unit = digits, 1<<10
		} else if digits, ok := strings.CutSuffix(v, "MB"); ok {
			v, unit = digits, 1<<20
		}
		n, err := strconv.ParseUint(v, 10, 32)
		bytes := int(n) * unit
		if err == nil && (bytes < least || bytes > most) {
			err = strconv.ErrRange
		}
		*field(s) = bytes
		return err
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
