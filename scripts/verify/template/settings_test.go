package template

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/serve/front"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// local are the settings that only the local host has: on AWS keys are secrets.
var local = []string{"REVEILLE_ADDR", "REVEILLE_AGENTS", "REVEILLE_DATA", "REVEILLE_EGRESS_PROXY", "REVEILLE_HOSTS", "REVEILLE_MAX_REQUESTS", "REVEILLE_SWEEP_INTERVAL", "REVEILLE_WEBHOOK_SECRET"}

func TestEverySettingIsDeployed(t *testing.T) {
	of := read(t)
	got := slices.Collect(maps.Keys(of.Globals.Function.Environment.Variables))
	for _, f := range functions(t, of) {
		for name := range f.Environment.Variables {
			if name != "WEBHOOK_SECRET_NAME" && !slices.Contains(got, name) { // which a trigger names, not a setting
				got = append(got, name)
			}
		}
	}
	got = append(got, local...)
	slices.Sort(got)
	if diff := cmp.Diff(known(t), got); diff != "" {
		t.Errorf("settings of the code (-) and of the template or the local host (+):\n%s", diff)
	}
}

// known returns the names of the settings with our prefix.
func known(t *testing.T) (names []string) {
	t.Helper()
	for _, v := range settings.Variables() {
		if strings.HasPrefix(v.Name, "REVEILLE_") {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestWhichFunctionGetsWhichVariables(t *testing.T) {
	of := read(t)
	got := map[string]map[string]any{"Globals": of.Globals.Function.Environment.Variables}
	for id, f := range functions(t, of) {
		got[id] = f.Environment.Variables
	}
	own := map[string]any{"REVEILLE_ENVIRONMENT": "environment", "REVEILLE_STACK": "!Ref AWS::StackId"} // where agents are
	provider := map[string]any{
		"REVEILLE_MODEL_KEY_SECRET": `!If ["HasModelSecret","!Ref ModelKeySecret","!If [\"HasModelParameter\",\"!Sub ssm:${ModelKeyParameter}\",\"\"]"]`,
		"REVEILLE_MODEL_BASE_URL":   "!Ref ModelBaseUrl",
	}
	stream := maps.Clone(provider)
	stream["REVEILLE_MAX_BODY"] = "!Ref MaxBody"
	step := maps.Clone(provider)
	step["REVEILLE_WEBHOOK_SECRET_NAME"] = "!Ref WebhookSecret"
	want := map[string]map[string]any{
		"Globals": {
			"REVEILLE_AUTH":                 "!Ref Auth",
			"REVEILLE_CLIENTS":              "!Ref Clients",
			"REVEILLE_CONFIG_TABLE":         either["!Ref Config"],
			"REVEILLE_EGRESS_ALLOW":         "!Ref EgressAllow",
			"REVEILLE_EVENT_BUS":            "!Ref EventBus",
			"REVEILLE_ISSUER":               "!Ref Issuer",
			"REVEILLE_KEYS_URL":             "!Ref KeysUrl",
			"REVEILLE_LEASE":                "30s",
			"REVEILLE_LIMITS":               "!Ref Limits",
			"REVEILLE_MODEL_CATALOG":        "!Ref ModelCatalog",
			"REVEILLE_LOG_LEVEL":            "!Ref LogLevel",
			"REVEILLE_USAGE_READERS":        "!Ref UsageReaders",
			"REVEILLE_MODEL":                "!Ref Model",
			"REVEILLE_ORIGINS":              "!Ref Origins",
			"REVEILLE_PAGE":                 "!Ref Page",
			"REVEILLE_PAYLOAD_BUCKET":       either["!Ref Payloads"],
			"REVEILLE_QUEUE_URL":            "!Ref Queue",
			"REVEILLE_SHOW_MODELS":          "!Ref ShowModels",
			"REVEILLE_SHOW_REQUESTS":        "!Ref ShowRequests",
			"REVEILLE_STEPS_PER_INVOCATION": "!Ref Steps",
			"REVEILLE_TABLE":                either["!Ref Threads"],
			"REVEILLE_TENANT":               "!Ref Tenant",
			"REVEILLE_TENANT_CLAIM":         "!Ref TenantClaim",
			"REVEILLE_TENANTS":              `!If ["HasTenants","!Ref Tenants","!If [\"Signed\",\"!Sub ${AWS::AccountId}=default\",\"\"]"]`,
			"REVEILLE_TOKEN_USE":            "!Ref TokenUse",
			"REVEILLE_UNKNOWN_WINDOW":       "!Ref UnknownWindow",
			"REVEILLE_USAGE_DAYS":           "!Ref UsageDays",
			"REVEILLE_USER_CLAIM":           "!Ref UserClaim",
			"REVEILLE_WEBHOOK_URL":          "!Ref WebhookUrl",
		},
		"ApiFunction": {
			"REVEILLE_MAX_BODY": "!Ref MaxBody",
			"REVEILLE_STREAM_URL": `!If ["HasUrl",` +
				`"!Sub [\"https://${Host}\",{\"Host\":\"!Select [2,\\\"!Split [\\\\\\\"/\\\\\\\",\\\\\\\"!GetAtt StreamFunctionUrl.FunctionUrl\\\\\\\"]\\\"]\"}]",` +
				`"!If [\"HasDomain\",\"!Sub https://${DomainName}\",\"!Sub https://${RestApi}.execute-api.${AWS::Region}.${AWS::URLSuffix}/live\"]"]`,
		},
		"StreamFunction": stream,
		"StepFunction":   step,
		"SweepFunction":  {"REVEILLE_STACK": "!Ref AWS::StackId", "REVEILLE_DEAD_LETTER_QUEUE_URL": "!Ref DeadLetterQueue"}, // it calls no model
		"TriggerFunction": {
			"REVEILLE_TRIGGERS":   "triggers.json",
			"WEBHOOK_SECRET_NAME": "!Ref TriggerWebhookSecret",
		},
	}
	for _, id := range []string{"ApiFunction", "StreamFunction", "StepFunction", "TriggerFunction"} {
		want[id] = maps.Clone(want[id])
		maps.Copy(want[id], own)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const queueURL = "https://sqs.us-east-1.amazonaws.com/123456789012/queue"

// environ resolves the global variables with the parameters' defaults, but for
// the parameters and variables given. A variable that is a function of several
// parameters is empty then.
func environ(of template, given map[string]string) []string {
	var pairs []string
	for name, value := range of.Globals.Function.Environment.Variables {
		text := own(fmt.Sprint(value))
		if strings.HasPrefix(text, "!If ") {
			text = given[name]
		}
		if id, ok := strings.CutPrefix(text, "!Ref "); ok {
			text = "of-" + id
			if id == "Payloads" {
				text = "payloads"
			}
			if id == "Queue" { // a reference to a queue is its URL
				text = queueURL
			}
			if p, ok := of.Parameters[id]; ok {
				text = fmt.Sprint(p.Default)
			}
			if v, ok := given[id]; ok {
				text = v
			}
		}
		pairs = append(pairs, name+"="+text)
	}
	return pairs
}

func TestDefaultsAreAccepted(t *testing.T) {
	got, err := settings.Read(environ(read(t), nil))
	if err != nil {
		t.Fatal(err)
	}
	if got.Auth != "iam" || got.Steps != 1 || got.Model != "" || got.Lease.String() != "30s" || got.LogLevel.String() != "INFO" ||
		got.Table != "of-Threads" || got.Config != "of-Config" || got.QueueURL != queueURL {
		t.Errorf("got %+v", got)
	}
}

func TestParametersAllowWhatTheCodeAllows(t *testing.T) {
	of := read(t)
	for _, id := range []string{"Auth", "LogLevel", "TokenUse"} {
		for _, value := range of.Parameters[id].AllowedValues {
			if _, err := settings.Read(environ(of, map[string]string{id: fmt.Sprint(value)})); err != nil {
				t.Errorf("%s %v: %v", id, value, err)
			}
		}
	}
	steps := of.Parameters["Steps"]
	for value, ok := range map[int]bool{*steps.MinValue: true, *steps.MaxValue: true, *steps.MinValue - 1: false, *steps.MaxValue + 1: false} {
		if _, err := settings.Read(environ(of, map[string]string{"Steps": strconv.Itoa(value)})); ok != (err == nil) {
			t.Errorf("Steps %d: %v", value, err)
		}
	}
}

// TestEachWayToAuthenticateCanBeDeployed: with the parameters that belong to it,
// and the defaults of the others.
func TestEachWayToAuthenticateCanBeDeployed(t *testing.T) {
	of := read(t)
	for way, given := range map[string]map[string]string{
		"iam":     {"REVEILLE_TENANTS": "123456789012=default"},
		"jwt":     {"Issuer": "https://issuer.example", "Clients": "app", "TenantClaim": "custom:tenant"},
		"gateway": {"TenantClaim": "custom:tenant"},
		"lambda":  {"Tenant": "acme", "UserClaim": "principalId"},
		"none":    {},
	} {
		given["Auth"] = way
		if !slices.Contains(of.Parameters["Auth"].AllowedValues, any(way)) {
			t.Errorf("Auth cannot be %s", way)
		}
		s, err := settings.Read(environ(of, given))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := front.Authenticate(s, env.System()); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}
