package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core/secret"
)

// Variable is an environment variable that [Read] knows.
type Variable struct {
	Name    string
	Group   string // such as "Local host"; the variables of a group follow each other
	Default string // the value of an unset variable; empty: see Unset
	Unset   string // the effect of an unset variable without a default; empty: none
	Allowed string // the allowed values
	Meaning string // one or more sentences; the first one is a noun phrase
}

// Variables returns the variables that [Read] knows, by group.
func Variables() []Variable {
	var all []Variable
	for _, g := range groups() {
		for _, v := range g.variables {
			v.Group = g.name
			all = append(all, v.Variable)
		}
	}
	return all
}

// variable is a variable with the function that sets its value.
type variable struct {
	Variable
	set func(s *Settings, value string) error
}

// wrong returns the error for a value that is not allowed.
func (v variable) wrong(value string) error {
	preset := ""
	if v.Default != "" {
		preset = "; default: " + v.Default
	}
	meaning, _, _ := strings.Cut(strings.ReplaceAll(v.Meaning, "`", ""), ". ")
	meaning = strings.ToLower(meaning[:1]) + strings.TrimSuffix(meaning[1:], ".")
	return fmt.Errorf("environment variable %s is %q, allowed: %s%s; meaning: %s", v.Name, harmless(withoutToken(v.Name, value)), v.Allowed, preset, meaning)
}

// group is a list of variables under a name.
type group struct {
	name      string
	variables []variable
}

// groups returns all variables. Every start of a process reads them, so that they are not
// copied into one list.
func groups() []group {
	return []group{
		{"Local host", hostVariables()},
		{"Local host", shownVariables()},
		{"Requests", requestVariables()},
		{"Authentication", identityVariables()},
		{"Authentication", tokenVariables()},
		{"Models", modelVariables()},
		{"Outgoing requests", egressVariables()},
		{"Runs", runVariables()},
		{"Notifications", announceVariables()},
		{"Usage and metrics", usageVariables()},
		{"AWS", awsVariables()},
		{"Provider keys", providerVariables()},
	}
}

// hostVariables are for the local host. Functions on AWS also read the origins.
func hostVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_ADDR", Default: "127.0.0.1:3000", Allowed: "host:port",
				Meaning: "The address where the local host listens.",
			},
			text(func(s *Settings) *string { return &s.Addr }),
		},
		{
			Variable{
				Name: "REVEILLE_HOSTS", Allowed: "names or addresses without port, separated by commas",
				Meaning: "The host names that the local host accepts in requests, in addition to the names of this machine.",
			},
			list(func(s *Settings) *[]string { return &s.Hosts }, hostName),
		},
		{
			Variable{
				Name: "REVEILLE_ORIGINS", Allowed: "scheme://host[:port] as browsers write it, separated by commas",
				Meaning: "The origins of other sites whose pages may send requests, such as `https://app.example`.",
			},
			list(func(s *Settings) *[]string { return &s.Origins }, origin),
		},
		{
			Variable{
				Name: "REVEILLE_DATA", Default: ".reveille/reveille.db", Allowed: `a file, or "memory"`,
				Meaning: "The database file of the local host. With `memory`, the host keeps its data in memory only.",
			},
			text(func(s *Settings) *string { return &s.Data }),
		},
		{
			Variable{
				Name: "REVEILLE_AGENTS", Allowed: "a folder with files of YAML or JSON",
				Meaning: "The folder of agents in YAML or JSON files, which the local host adds to those in Go. Functions on AWS refuse it.",
			},
			text(func(s *Settings) *string { return &s.Agents }),
		},
		{
			Variable{
				Name: "REVEILLE_SWEEP_INTERVAL", Default: "5s", Allowed: "a duration from 10ms to 10m",
				Meaning: "The interval between sweeps of the local host.",
			},
			duration(func(s *Settings) *time.Duration { return &s.Sweep }, 10*time.Millisecond, 10*time.Minute),
		},
		{
			Variable{
				Name: "REVEILLE_MAX_REQUESTS", Default: "4096", Allowed: "1 to 1000000",
				Meaning: "The maximum number of open requests of the local host, including streams. A further request gets status 503 with `Retry-After`.",
			},
			number(func(s *Settings) *int { return &s.Requests }, 1_000_000),
		},
	}
}

// requestVariables limit requests, for functions on AWS too.
func requestVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_MAX_BODY", Default: "4MB", Allowed: "64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS",
				Meaning: "The maximum size of a request body, without the older messages that the AI SDK endpoint skips. A larger body gets status 413.",
			},
			size(func(s *Settings) *int { return &s.MaxBody }, 64<<10, 64<<20),
		},
	}
}

// shownVariables are switches of what the host shows, for functions on AWS too.
func shownVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_PAGE", Allowed: "on, off", Unset: "`on` on the local host, `off` on AWS",
				Meaning: "The switch for the page at `/`: `on` or `off`.",
			},
			oneOf(func(s *Settings) *string { return &s.Page }, "", "on", "off"),
		},
		{
			Variable{
				Name: "REVEILLE_SHOW_MODELS", Allowed: "on, off", Unset: "`on` on the local host, `off` on AWS",
				Meaning: "The switch for the providers, names and prices of models in `/v1/agents` and `/v1/capabilities`: `on` or `off`.",
			},
			oneOf(func(s *Settings) *string { return &s.Models }, "", "on", "off"),
		},
		{
			Variable{
				Name: "REVEILLE_SHOW_REQUESTS", Allowed: "on, off", Unset: "`on` on the local host, `off` on AWS",
				Meaning: "The switch for `/v1/runs/{run}/steps/{step}/request`, which shows the owner of a thread the requests that models received: `on` or `off`.",
			},
			oneOf(func(s *Settings) *string { return &s.Sent }, "", "on", "off"),
		},
	}
}

// modelVariables choose the model of the agents, and describe models.
func modelVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_MODEL", Allowed: "PROVIDER/NAME", Unset: "the default model of the provider whose key is set, else `scripted`",
				Meaning: "The model that agents call as `default`, in the form `PROVIDER/NAME`.",
			},
			text(func(s *Settings) *string { return &s.Model }),
		},
		{
			Variable{
				Name: "REVEILLE_MODEL_KEY_SECRET", Allowed: "the name of a secret",
				Meaning: "The name of the secret that holds the key of this model's provider. It works on AWS only.",
			},
			text(func(s *Settings) *string { return &s.ModelKeySecret }),
		},
		{
			Variable{
				Name: "REVEILLE_MODEL_BASE_URL", Allowed: addressAllowed, Unset: "the provider's own address",
				Meaning: "The address of this model's provider.",
			},
			address(func(s *Settings) *string { return &s.ModelBaseURL }),
		},
		{
			Variable{
				Name: "REVEILLE_MODEL_CATALOG", Allowed: "a file, or its JSON",
				Meaning: "The catalog of models that is added to the built-in catalog, as a file or as JSON. An entry replaces the built-in entry of the same model.",
			},
			text(func(s *Settings) *string { return &s.Catalog }),
		},
		{
			Variable{
				Name: "REVEILLE_UNKNOWN_WINDOW", Default: "128000", Allowed: "a number of tokens from 1024 to 10000000",
				Meaning: "The context window of a model that the catalog does not have. If the model refuses a longer request, the process learns the real window from the refusal.",
			},
			between(func(s *Settings) *int { return &s.Unknown }, 1_024, 10_000_000),
		},
	}
}

// runVariables are for every process that works on runs or starts them.
func runVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_TRIGGERS", Allowed: "a file, or its JSON", Unset: "none. `make run` and template.yaml set the file of `functions/app`",
				Meaning: "The definitions of triggers, as a file or as JSON.",
			},
			text(func(s *Settings) *string { return &s.Triggers }),
		},
		{
			Variable{
				Name: "REVEILLE_ENVIRONMENT", Allowed: "a file", Unset: "none. `make run` and template.yaml set the file of `functions/app`",
				Meaning: "The [file of environment variables](#variables-of-your-tools) of your tools.",
			},
			text(func(s *Settings) *string { return &s.Environment }),
		},
		{
			Variable{
				Name: "REVEILLE_STACK", Allowed: "the ARN or the name of a stack", Unset: "`local`",
				Meaning: "The stack whose section of that file applies, and which metrics and lines of usage name.",
			},
			formed(func(s *Settings) *string { return &s.Stack }, isStack),
		},
		{
			Variable{
				Name: "REVEILLE_LIMITS", Allowed: "a file, or its JSON",
				Meaning: "The limits of tenants, as a file or as JSON. On AWS, all functions need the same limits.",
			},
			text(func(s *Settings) *string { return &s.Limits }),
		},
		{
			Variable{
				Name: "REVEILLE_STEPS_PER_INVOCATION", Default: "1", Allowed: "1 to 100",
				Meaning: "The maximum number of steps that a worker takes per wake-up.",
			},
			number(func(s *Settings) *int { return &s.Steps }, 100),
		},
		{
			Variable{
				Name: "REVEILLE_LEASE", Default: "30s", Allowed: "a duration from 1s to 15m",
				Meaning: "The time for which a claim is valid without renewal.",
			},
			duration(func(s *Settings) *time.Duration { return &s.Lease }, time.Second, 15*time.Minute),
		},
		{
			Variable{
				Name: "REVEILLE_LOG_LEVEL", Default: "info", Allowed: "debug, info, warn, error",
				Meaning: "The lowest level of log lines that the process writes.",
			},
			func(s *Settings, v string) error { return s.LogLevel.UnmarshalText([]byte(v)) },
		},
	}
}

// announceVariables name the receivers of notifications about runs.
func announceVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_WEBHOOK_URL", Allowed: "an https URL without user and fragment; also http, for hosts in REVEILLE_EGRESS_ALLOW and, on the local host, for this machine",
				Meaning: "The address that receives a notification when a run waits, ends or is abandoned.",
			},
			hookAddress,
		},
		{
			Variable{
				Name: "REVEILLE_WEBHOOK_SECRET", Allowed: "whsec_ and base64",
				Meaning: "The secret that signs notifications: `whsec_` and the base64 of 24 to 64 bytes.",
			},
			func(s *Settings, v string) error {
				s.WebhookSecret = secret.New(v)
				return nil
			},
		},
		{
			Variable{
				Name: "REVEILLE_WEBHOOK_SECRET_NAME", Allowed: "the name of a secret, if REVEILLE_WEBHOOK_SECRET is not set",
				Meaning: "The name of the secret that signs notifications. It works on AWS only, in the step function.",
			},
			func(s *Settings, v string) error {
				if s.WebhookSecretName = v; v != "" && !s.WebhookSecret.IsZero() {
					return errForm
				}
				return nil
			},
		},
		{
			Variable{
				Name: "REVEILLE_EVENT_BUS", Allowed: "the name or ARN of an event bus",
				Meaning: "The EventBridge event bus that receives the same notifications. It works on AWS only.",
			},
			formed(func(s *Settings) *string { return &s.EventBus }, isBus),
		},
	}
}

// usageVariables control the records of usage.
func usageVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_USAGE_DAYS", Default: "396", Allowed: "0 to 3660; 0 records nothing",
				Meaning: "The number of days for which usage records are stored. With `0`, no usage is recorded.",
			},
			func(s *Settings, v string) error {
				days, err := strconv.ParseUint(v, 10, 32)
				if err == nil && days > 3660 {
					err = errForm
				}
				s.UsageKeep = time.Duration(days) * 24 * time.Hour
				return err
			},
		},
		{
			Variable{
				Name: "REVEILLE_USAGE_READERS", Allowed: "users as their tokens or roles name them, separated by commas, or *",
				Meaning: "The users who can read the usage of their whole tenant. `*` means all users.",
			},
			list(func(s *Settings) *[]string { return &s.UsageReaders }, user),
		},
	}
}
