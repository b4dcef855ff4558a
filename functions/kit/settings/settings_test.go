package settings

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/secret"
)

func TestReadDefaults(t *testing.T) {
	got, err := Read([]string{"PATH=/bin", "REVEILLE_AUTH="})
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Addr: "127.0.0.1:3000", Data: ".reveille/reveille.db", Steps: 1,
		Lease: 30 * time.Second, Sweep: 5 * time.Second, Requests: 4096, MaxBody: 4194304, LogLevel: slog.LevelInfo, CacheSize: 67108864, Unknown: 128_000, Identity: Identity{TokenUse: "id"},
		UsageKeep: 396 * 24 * time.Hour, Memory: 256, Misnamed: map[string]string{},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(secret.String{})); diff != "" {
		t.Error(diff)
	}
	if got.Announces() {
		t.Error("something is told to nobody")
	}
}

func TestReadValues(t *testing.T) {
	got, err := Read([]string{
		"REVEILLE_ADDR=:8080", "REVEILLE_PAGE=on", "REVEILLE_SHOW_MODELS=off", "REVEILLE_SHOW_REQUESTS=on", "REVEILLE_DATA=memory", "REVEILLE_AUTH=gateway", "REVEILLE_MODEL=m", "REVEILLE_AGENTS=agents", "REVEILLE_TRIGGERS=t.json", "REVEILLE_LIMITS={}", "REVEILLE_STEPS_PER_INVOCATION=100",
		"REVEILLE_LEASE=15m", "REVEILLE_SWEEP_INTERVAL=10ms", "REVEILLE_MAX_REQUESTS=1000000", "REVEILLE_MAX_BODY=6MB", "REVEILLE_LOG_LEVEL=warn", "REVEILLE_TABLE=t", "REVEILLE_CONFIG_TABLE=c", "REVEILLE_QUEUE_URL=https://q/1", "REVEILLE_DEAD_LETTER_QUEUE_URL=https://q/2",
		"REVEILLE_TENANT=t-1", "REVEILLE_TENANT_CLAIM=custom:tenant", "REVEILLE_USER_CLAIM=principalId", "REVEILLE_ISSUER=https://i.example/pool",
		"REVEILLE_KEYS_URL=https://i.example/keys", "REVEILLE_CLIENTS=a, https://api.example/", "REVEILLE_TOKEN_USE=access",
		"REVEILLE_TENANTS=us-east-1:0f1e2d3c-4b5a-4697-8877-665544332211=pool, AIDA1=user,AROA1=role,111122223333=account",
		"REVEILLE_ORIGINS=https://app.example, http://localhost:5173",
		"REVEILLE_WEBHOOK_URL=https://hooks.example/in?token=abc", "REVEILLE_WEBHOOK_SECRET=whsec_x", "REVEILLE_EVENT_BUS=arn:aws:events:us-east-1:123456789012:event-bus/runs",
		"REVEILLE_USAGE_DAYS=30", "REVEILLE_USAGE_READERS=accounting, AROA1", "REVEILLE_MODEL_CATALOG=p.json", "REVEILLE_UNKNOWN_WINDOW=64000",
		"REVEILLE_PAYLOAD_BUCKET=payloads-1.x", "REVEILLE_STREAM_URL=http://s/", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024", "OPENAI_API_KEY=k=k", "OPENAI_BASE_URL=http://localhost:11434/v1", "VLLM_BASE_URL=http://localhost:8000/v1", "ZAI_API_KEY=z",
		"REVEILLE_MODEL_KEY_SECRET=prod/key", "REVEILLE_MODEL_BASE_URL=https://m/v1", "REVEILLE_OWN=1", "REVEILLE_EGRESS_ALLOW=model.internal, 10.0.0.0/8,fd12::1", "REVEILLE_EGRESS_PROXY=on",
	}, "REVEILLE_OWN")
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Addr: ":8080", Page: "on", Models: "off", Sent: "on", Data: "memory", Auth: "gateway", Model: "m", Agents: "agents", Triggers: "t.json", Limits: "{}", Catalog: "p.json", Unknown: 64_000, Steps: 100,
		Lease: 15 * time.Minute, Sweep: 10 * time.Millisecond, Requests: 1_000_000, MaxBody: 6291456, LogLevel: slog.LevelWarn, Table: "t", Config: "c", QueueURL: "https://q/1", DeadLetterURL: "https://q/2",
		WebhookURL: "https://hooks.example/in?token=abc", EventBus: "arn:aws:events:us-east-1:123456789012:event-bus/runs",
		StreamURL: "http://s/", Bucket: "payloads-1.x", CacheSize: 268435456, ModelKeySecret: "prod/key", ModelBaseURL: "https://m/v1", Proxy: true,
		UsageKeep: 720 * time.Hour, UsageReaders: []string{"accounting", "AROA1"}, Memory: 1024, Misnamed: map[string]string{},
		Origins: []string{"https://app.example", "http://localhost:5173"},
		Identity: Identity{
			Tenant: "t-1", TenantClaim: "custom:tenant", UserClaim: "principalId", Issuer: "https://i.example/pool", KeysURL: "https://i.example/keys",
			Clients: []string{"a", "https://api.example/"}, TokenUse: "access",
			Tenants: map[string]string{"us-east-1:0f1e2d3c-4b5a-4697-8877-665544332211": "pool", "AIDA1": "user", "AROA1": "role", "111122223333": "account"},
		},
	}
	if got.WebhookSecret.Reveal() != "whsec_x" || !got.Announces() {
		t.Errorf("the secret is %q", got.WebhookSecret.Reveal())
	}
	var said []string
	for _, p := range got.Providers {
		said = append(said, p.ID+" "+p.Key.Reveal()+" "+p.BaseURL)
	}
	if diff := cmp.Diff([]string{"openai k=k http://localhost:11434/v1", "zai z ", "vllm  http://localhost:8000/v1"}, said); diff != "" {
		t.Error(diff)
	}
	got.WebhookSecret, got.Providers = secret.String{}, nil
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(secret.String{})); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	const address = "allowed: an http or https URL without user, query and fragment"
	tests := []struct{ name, pair, want string }{
		{"a webhook without a host", "REVEILLE_WEBHOOK_URL=https:///in?token=abc", `environment variable REVEILLE_WEBHOOK_URL is "https:///in", allowed: an https URL without user and fragment; also http, for hosts in REVEILLE_EGRESS_ALLOW and, on the local host, for this machine`},
		{"an event bus that is none", "REVEILLE_EVENT_BUS=a bus", `environment variable REVEILLE_EVENT_BUS is "a bus", allowed: the name or ARN of an event bus`},
		{"neither on nor off", "REVEILLE_PAGE=yes", `environment variable REVEILLE_PAGE is "yes", allowed: on, off`},
		{"a webhook's secret and the name of one", "REVEILLE_WEBHOOK_SECRET_NAME=prod/hooks", `environment variable REVEILLE_WEBHOOK_SECRET_NAME is "prod/hooks", allowed: the name of a secret, if REVEILLE_WEBHOOK_SECRET is not set`},
		{"a bucket that is none", "REVEILLE_PAYLOAD_BUCKET=s3://payloads", `environment variable REVEILLE_PAYLOAD_BUCKET is "s3://payloads", allowed: the name of a bucket`},
		{"an unknown way to authenticate", "REVEILLE_AUTH=open", `environment variable REVEILLE_AUTH is "open", allowed: none, iam, jwt, gateway, lambda`},
		{"a URL where a host is wanted", "REVEILLE_EGRESS_ALLOW=http://10.0.0.5", `environment variable REVEILLE_EGRESS_ALLOW is "http://10.0.0.5", allowed: host names, addresses or networks such as 10.0.0.0/8, separated by commas; no link-local ones`},
		{"the metadata of an instance", "REVEILLE_EGRESS_ALLOW=10.0.0.1,169.254.169.254", `environment variable REVEILLE_EGRESS_ALLOW is "10.0.0.1,169.254.169.254", allowed: host names, addresses or networks such as 10.0.0.0/8, separated by commas; no link-local ones`},
		{"a proxy neither on nor off", "REVEILLE_EGRESS_PROXY=yes", `environment variable REVEILLE_EGRESS_PROXY is "yes", allowed: on, off`},
		{"no step", "REVEILLE_STEPS_PER_INVOCATION=0", `environment variable REVEILLE_STEPS_PER_INVOCATION is "0", allowed: 1 to 100`},
		{"a step too many", "REVEILLE_STEPS_PER_INVOCATION=101", `environment variable REVEILLE_STEPS_PER_INVOCATION is "101", allowed: 1 to 100`},
		{"steps that are no number", "REVEILLE_STEPS_PER_INVOCATION=two", `environment variable REVEILLE_STEPS_PER_INVOCATION is "two", allowed: 1 to 100`},
		{"a lease too short", "REVEILLE_LEASE=999ms", `environment variable REVEILLE_LEASE is "999ms", allowed: a duration from 1s to 15m`},
		{"a lease without unit", "REVEILLE_LEASE=30", `environment variable REVEILLE_LEASE is "30", allowed: a duration from 1s to 15m`},
		{"a lease too long", "REVEILLE_LEASE=901s", `environment variable REVEILLE_LEASE is "901s", allowed: a duration from 1s to 15m`},
		{"a sweep too rare", "REVEILLE_SWEEP_INTERVAL=601s", `environment variable REVEILLE_SWEEP_INTERVAL is "601s", allowed: a duration from 10ms to 10m`},
		{"a sweep too often", "REVEILLE_SWEEP_INTERVAL=9ms", `environment variable REVEILLE_SWEEP_INTERVAL is "9ms", allowed: a duration from 10ms to 10m`},
		{"a day too many", "REVEILLE_USAGE_DAYS=3661", `environment variable REVEILLE_USAGE_DAYS is "3661", allowed: 0 to 3660; 0 records nothing`},
		{"a window too small", "REVEILLE_UNKNOWN_WINDOW=1023", `environment variable REVEILLE_UNKNOWN_WINDOW is "1023", allowed: a number of tokens from 1024 to 10000000`},
		{"a window too large", "REVEILLE_UNKNOWN_WINDOW=10000001", `environment variable REVEILLE_UNKNOWN_WINDOW is "10000001", allowed: a number of tokens from 1024 to 10000000`},
		{"no request", "REVEILLE_MAX_REQUESTS=0", `environment variable REVEILLE_MAX_REQUESTS is "0", allowed: 1 to 1000000`},
		{"a request too many", "REVEILLE_MAX_REQUESTS=1000001", `environment variable REVEILLE_MAX_REQUESTS is "1000001", allowed: 1 to 1000000`},
		{"a body too small", "REVEILLE_MAX_BODY=65535", `environment variable REVEILLE_MAX_BODY is "65535", allowed: 64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS`},
		{"a body too large", "REVEILLE_MAX_BODY=67108865", `environment variable REVEILLE_MAX_BODY is "67108865", allowed: 64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS`},
		{"a body too large in megabytes", "REVEILLE_MAX_BODY=65MB", `environment variable REVEILLE_MAX_BODY is "65MB", allowed: 64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS`},
		{"a body with a fraction", "REVEILLE_MAX_BODY=1.5MB", `environment variable REVEILLE_MAX_BODY is "1.5MB", allowed: 64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS`},
		{"a body with a space", "REVEILLE_MAX_BODY=4 MB", `environment variable REVEILLE_MAX_BODY is "4 MB", allowed: 64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS`},
		{"a body of another unit", "REVEILLE_MAX_BODY=1GB", `environment variable REVEILLE_MAX_BODY is "1GB", allowed: 64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS`},
		{"a unit alone", "REVEILLE_MAX_BODY=MB", `environment variable REVEILLE_MAX_BODY is "MB", allowed: 64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS`},
		{"a negative body", "REVEILLE_MAX_BODY=-4MB", `environment variable REVEILLE_MAX_BODY is "-4MB", allowed: 64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS`},
		{"a number that overflows", "REVEILLE_MAX_BODY=18014398509482048KB", `environment variable REVEILLE_MAX_BODY is "18014398509482048KB", allowed: 64KB to 64MB, in bytes or with KB or MB; at most 6MB on AWS`},
		{"an unknown level", "REVEILLE_LOG_LEVEL=loud", `environment variable REVEILLE_LOG_LEVEL is "loud", allowed: debug, info, warn, error`},
		{"an address without scheme", "OPENAI_BASE_URL=localhost:11434/v1", `environment variable OPENAI_BASE_URL is "localhost:11434/v1", ` + address},
		{"an address that is a path", "OPENAI_BASE_URL=/v1", `environment variable OPENAI_BASE_URL is "/v1", ` + address},
		{"an address that is none", "REVEILLE_STREAM_URL=http://a b", `environment variable REVEILLE_STREAM_URL is "http://a b", ` + address},
		{"an address with a query", "REVEILLE_STREAM_URL=https://a/?b=c", `environment variable REVEILLE_STREAM_URL is "https://a/?b=c", ` + address},
		{"an address with a fragment", "REVEILLE_STREAM_URL=https://a/#b", `environment variable REVEILLE_STREAM_URL is "https://a/#b", ` + address},
		{"an address with an empty fragment", "OPENAI_BASE_URL=https://a/v1#", `environment variable OPENAI_BASE_URL is "https://a/v1#", ` + address},
		{"an address with an empty query", "OPENAI_BASE_URL=https://a/v1?", `environment variable OPENAI_BASE_URL is "https://a/v1?", ` + address},
		{"an address without a host", "OPENAI_BASE_URL=http://:80/v1", `environment variable OPENAI_BASE_URL is "http://:80/v1", ` + address},
		{"an address of another protocol", "REVEILLE_QUEUE_URL=arn:aws:sqs:us-east-1:1:q", `environment variable REVEILLE_QUEUE_URL is "arn:aws:sqs:us-east-1:1:q", ` + address},
		{"an address with a password", "OPENAI_BASE_URL=https://ada:secret@a/v1", `environment variable OPENAI_BASE_URL is "https://ada:xxxxx@a/v1", ` + address},
		{"a password in what is no address", "OPENAI_BASE_URL=http://ada:secret@[a", `environment variable OPENAI_BASE_URL is "...", ` + address},
		{"a memory that is no number", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1GB", `environment variable AWS_LAMBDA_FUNCTION_MEMORY_SIZE is "1GB", allowed: a number of megabytes`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pairs := []string{test.pair}
			if strings.HasPrefix(test.pair, "REVEILLE_WEBHOOK_SECRET_NAME=") {
				pairs = append(pairs, "REVEILLE_WEBHOOK_SECRET=whsec_x")
			}
			_, err := Read(pairs)
			if got := short(err); got != test.want {
				t.Errorf("error %s\nwant  %s", got, test.want)
			}
		})
	}
}

func TestTheLargestValuesAreRead(t *testing.T) {
	s, err := Read([]string{"REVEILLE_SWEEP_INTERVAL=10m", "REVEILLE_USAGE_DAYS=3660", "REVEILLE_LEASE=1s"})
	if err != nil || s.Sweep != 10*time.Minute || s.UsageKeep != 3660*24*time.Hour || s.Lease != time.Second {
		t.Errorf("%v, %v, %v, %v", s.Sweep, s.UsageKeep, s.Lease, err)
	}
}

func TestThePageIsShown(t *testing.T) {
	tests := []struct {
		value            string
		byDefault, shown bool
	}{
		{"", true, true}, {"", false, false}, {"on", true, true}, {"on", false, true}, {"off", true, false}, {"off", false, false},
	}
	for _, test := range tests {
		if got := (Settings{Page: test.value}).ShowsPage(test.byDefault); got != test.shown {
			t.Errorf("the page, %q with the default %t: %t", test.value, test.byDefault, got)
		}
		if got := (Settings{Models: test.value}).ShowsModels(test.byDefault); got != test.shown {
			t.Errorf("models, %q with the default %t: %t", test.value, test.byDefault, got)
		}
		if got := (Settings{Sent: test.value}).ShowsRequests(test.byDefault); got != test.shown {
			t.Errorf("requests, %q with the default %t: %t", test.value, test.byDefault, got)
		}
	}
}

// Further names of a caller's slice are not overwritten.
func TestTheCallersNamesAreKept(t *testing.T) {
	names := []string{"REVEILLE_OWN", "REVEILLE_OTHER"}
	if _, err := Read([]string{"REVEILLE_OWN=1"}, names[:1]...); err != nil || names[1] != "REVEILLE_OTHER" {
		t.Errorf("%q, %v", names, err)
	}
}

// short returns an error without the default and the meaning of its variable.
func short(err error) string {
	text := fmt.Sprint(err)
	for _, detail := range []string{"; default: ", "; meaning: "} {
		text, _, _ = strings.Cut(text, detail)
	}
	return text
}

func TestAnErrorExplainsItsVariable(t *testing.T) {
	for pair, want := range map[string]string{
		"REVEILLE_LEASE=30":    `environment variable REVEILLE_LEASE is "30", allowed: a duration from 1s to 15m; default: 30s; meaning: the time for which a claim is valid without renewal`,
		"REVEILLE_PAGE=yes":    `environment variable REVEILLE_PAGE is "yes", allowed: on, off; meaning: the switch for the page at /: on or off`,
		"GROQ_BASE_URL=a.test": `environment variable GROQ_BASE_URL is "a.test", allowed: an http or https URL without user, query and fragment; meaning: the address of provider groq`,
	} {
		if _, err := Read([]string{pair}); err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
}

func TestEachVariableIsDescribed(t *testing.T) {
	ends := regexp.MustCompile(`^[A-Z].*\.$`)
	seen := map[string]bool{}
	for _, v := range Variables() {
		if seen[v.Name] || v.Group == "" || v.Allowed == "" || !ends.MatchString(v.Meaning) || v.Default != "" && v.Unset != "" {
			t.Errorf("%+v", v)
		}
		seen[v.Name] = true
	}
	if len(seen) != 75 {
		t.Errorf("%d variables", len(seen))
	}
}

func TestSecretsAreOpenedWhereThereIsAStoreOfThem(t *testing.T) {
	s, err := Read([]string{"REVEILLE_MODEL_KEY_SECRET=prod/key", "REVEILLE_WEBHOOK_SECRET_NAME=prod/hooks"})
	if err != nil || s.ModelKeySecret != "prod/key" || s.WebhookSecretName != "prod/hooks" {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := s.OpenSecret("prod/key"); err == nil || err.Error() != `secret "prod/key": only functions on AWS that call models or sign notifications can read secrets` {
		t.Errorf("error %v", err)
	}
	s.Secret = func(name string) (secret.Source, error) { return nil, fmt.Errorf("opens %s", name) }
	if _, err := s.OpenSecret("prod/key"); err == nil || err.Error() != "opens prod/key" {
		t.Errorf("error %v", err)
	}
}

func TestCacheIsAQuarterOfTheMemory(t *testing.T) {
	tests := []struct {
		megabytes string
		want      int
	}{
		{"1", 8388608},
		{"31", 8388608},
		{"32", 8388608},
		{"36", 9437184},
		{"128", 33554432},
		{"10240", 2684354560},
	}
	for _, test := range tests {
		got, err := Read([]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + test.megabytes})
		if err != nil || got.CacheSize != test.want {
			t.Errorf("of %s MB: %d bytes, error %v, want %d", test.megabytes, got.CacheSize, err, test.want)
		}
	}
}

func TestNamesOfCallersAreChecked(t *testing.T) {
	const (
		tenant  = "a name of A-Z a-z 0-9 . _ : -"
		tenants = "ID=TENANT, separated by commas; an ID is an identity pool's, AIDA..., AROA... or an account's 12 digits"
		address = "an https address without query"
		clients = "client ids or audiences, separated by commas"
		origins = "scheme://host[:port] as browsers write it, separated by commas"
	)
	tests := []struct{ name, variable, value, allowed string }{
		{"a tenant that reaches another's records", "REVEILLE_TENANT", "a#b", tenant},
		{"no tenant", "REVEILLE_TENANTS", "AIDA1", tenants},
		{"an empty tenant", "REVEILLE_TENANTS", "AIDA1=", tenants},
		{"a tenant that is no name", "REVEILLE_TENANTS", "AIDA1=a b", tenants},
		{"nobody", "REVEILLE_TENANTS", "=t", tenants},
		{"a user's name", "REVEILLE_TENANTS", "ada=t", tenants},
		{"an ARN", "REVEILLE_TENANTS", "arn:aws:iam::111122223333:user/ada=t", tenants},
		{"a session", "REVEILLE_TENANTS", "AROA1:bob=t", tenants},
		{"an account of 11 digits", "REVEILLE_TENANTS", "11112222333=t", tenants},
		{"twice the same", "REVEILLE_TENANTS", "AIDA1=t,AIDA1=u", tenants},
		{"a comma too many", "REVEILLE_TENANTS", "AIDA1=t,", tenants},
		{"an issuer in the clear", "REVEILLE_ISSUER", "http://i.example", address},
		{"an issuer without host", "REVEILLE_ISSUER", "https:///pool", address},
		{"an issuer with a password", "REVEILLE_ISSUER", "https://a:b@i.example", address},
		{"keys by query", "REVEILLE_KEYS_URL", "https://i.example/?k=1", address},
		{"no client", "REVEILLE_CLIENTS", "a,,b", clients},
		{"another use", "REVEILLE_TOKEN_USE", "refresh", "id, access"},
		{"every origin", "REVEILLE_ORIGINS", "*", origins},
		{"the null origin", "REVEILLE_ORIGINS", "null", origins},
		{"an origin with a path", "REVEILLE_ORIGINS", "https://app.example/", origins},
		{"an origin in capitals", "REVEILLE_ORIGINS", "https://App.example", origins},
		{"an origin with its default port", "REVEILLE_ORIGINS", "https://app.example:443", origins},
		{"no scheme", "REVEILLE_ORIGINS", "app.example", origins},
		{"no host", "REVEILLE_ORIGINS", "https://", origins},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read([]string{test.variable + "=" + test.value})
			shown := strings.Replace(test.value, "a:b@", "a:xxxxx@", 1) // errors keep passwords to themselves
			if want := fmt.Sprintf("environment variable %s is %q, allowed: %s", test.variable, shown, test.allowed); short(err) != want {
				t.Errorf("error %v\nwant  %s", err, want)
			}
		})
	}
}

func TestWhoseTenantEverybodyIsIn(t *testing.T) {
	tests := []struct {
		auth, tenant, want string
	}{
		{"none", "", "public"},
		{"none", "acme", "acme"},
		{"jwt", "acme", "acme"},
		{"iam", "", ""},
	}
	for _, tt := range tests {
		s := Settings{Auth: tt.auth, Identity: Identity{Tenant: tt.tenant}}
		if got := s.EverybodysTenant(); got != tt.want {
			t.Errorf("%s with tenant %q: %q, want %q", tt.auth, tt.tenant, got, tt.want)
		}
	}
}

func TestProvidersHaveWhatTheEnvironmentSaysOfThem(t *testing.T) {
	s, err := Read([]string{"OPENAI_API_KEY=o", "GROQ_BASE_URL=https://g/v1", "AWS_REGION=x"})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"openai": "true o  gpt-6-luna", "openai-responses": "true o  ", "groq": "true  https://g/v1 openai/gpt-oss-20b",
		"anthropic": "false   claude-haiku-5-5", "bedrock": "false   ", "scripted": "false   scripted",
	} {
		p, ok := s.Provider(id)
		if got := fmt.Sprint(p.Said(), " ", p.Key.Reveal(), " ", p.BaseURL, " ", p.Model); !ok || got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	if p, ok := s.Provider("nobody"); ok {
		t.Errorf("%+v", p)
	}
	if text := fmt.Sprintf("%+v", s.Providers); strings.Contains(text, "Key:o") || !strings.Contains(text, "***") {
		t.Errorf("printed: %s", text)
	}
}

// Each start of a process reads the settings once.
func BenchmarkRead(b *testing.B) {
	environ := append(os.Environ(), "REVEILLE_TABLE=threads", "AWS_SECRET_ACCESS_KEY=k", "AWS_SESSION_TOKEN=t", "AWS_LAMBDA_LOG_GROUP_NAME=g")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(environ); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReadSizes(t *testing.T) {
	for value, want := range map[string]int{"65536": 65536, "64KB": 65536, "1MB": 1048576, "4194304": 4194304, "64MB": 67108864, "67108864": 67108864} {
		if got, err := Read([]string{"REVEILLE_MAX_BODY=" + value}); err != nil || got.MaxBody != want {
			t.Errorf("%s is %d bytes, error %v; want %d", value, got.MaxBody, err, want)
		}
	}
}
