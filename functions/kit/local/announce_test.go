package local

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/providers"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// untimed logs like the host, without the time.
func untimed(log *strings.Builder) *slog.Logger {
	return slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestTheFirstLineSaysWhatRunsAndWhere(t *testing.T) {
	parts := agent.Parts{
		Specs: []agent.Spec{
			{ID: "writer", Model: "large"}, {ID: "demo", Model: "small"}, {ID: "clerk", Model: "pool"}, {ID: "buyer", Model: "data"}, {ID: "own", Model: "own"}, {ID: "aide", Model: "small"},
		},
		ModelSpecs: []agent.ModelSpec{{ID: "data", Provider: "vendor", UpstreamModel: "vendor-1"}},
		Pools:      []agent.ModelPoolSpec{{ID: "pool"}},
		Models: map[string]agent.ModelBinding{
			"small": {Name: "scripted", Provider: "scripted"}, "large": {Name: "gpt-6-luna", Provider: "openai"}, "unused": {Name: "other"}, "own": {},
		},
	}
	const at = "level=INFO msg=listening url=http://127.0.0.1:3000 "
	tests := []struct {
		name     string
		settings settings.Settings
		parts    agent.Parts
		triggers []string
		want     string
	}{
		{"agents and their models", settings.Settings{Data: ".reveille/reveille.db"}, parts, nil,
			`page=http://127.0.0.1:3000/ agents="aide, demo on scripted (no key set); buyer on vendor/vendor-1; clerk on pool pool; own on own; writer on openai/gpt-6-luna" data=.reveille/reveille.db`},
		{"a scripted model that was chosen", settings.Settings{Data: "memory", Model: "scripted"}, agent.Parts{Specs: parts.Specs[1:2], Models: parts.Models}, nil,
			`page=http://127.0.0.1:3000/ agents="demo on scripted" data=memory`},
		{"a key that the agent does not use", settings.Settings{Data: "memory", Providers: []settings.Provider{{ID: "openai", Key: secret.New("k")}}}, agent.Parts{Specs: parts.Specs[1:2], Models: parts.Models}, nil,
			`page=http://127.0.0.1:3000/ agents="demo on scripted" data=memory`},
		{"triggers", settings.Settings{Data: "memory"}, agent.Parts{}, []string{"orders (eventbridge)", "report (schedule)"},
			`page=http://127.0.0.1:3000/ agents="" data=memory triggers="orders (eventbridge), report (schedule)"`},
		{"without the page", settings.Settings{Data: "memory", Page: "off"}, agent.Parts{}, nil, `agents="" data=memory`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log strings.Builder
			test.settings.Addr = "127.0.0.1:3000"
			announce(untimed(&log), test.settings, test.parts, test.triggers)
			if diff := cmp.Diff(at+test.want+"\n", log.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A host with the providers of the environment logs one line before it serves: its address,
// its page, its agents and the model that they call.
func TestTheHostLogsOneLineBeforeItServes(t *testing.T) {
	tests := []struct{ name, variables, model string }{
		{"without a key", "REVEILLE_MODEL=", "scripted (no key set)"},
		{"with a key", "ANTHROPIC_API_KEY=sk-test", "anthropic/claude-haiku-5-5"},
		{"with a model", "GROQ_API_KEY=k REVEILLE_MODEL=groq/openai/gpt-oss-20b", "groq/openai/gpt-oss-20b"},
		{"with the scripted model", "REVEILLE_MODEL=scripted", "scripted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := settings.Read(append(strings.Fields(test.variables), "REVEILLE_DATA=memory"))
			if err != nil {
				t.Fatal(err)
			}
			bind := func(e *env.Env, s settings.Settings) (wiring.Bound, error) {
				bound, err := providers.Bind(e, s)
				return wiring.Bound{Models: map[string]agent.ModelBinding{demo.Model: bound}}, err
			}
			var log strings.Builder
			h, err := newHost(t.Context(), env.System(), s, untimed(&log), wiring.Deployment{Parts: demo.Parts, Models: bind, Web: demonstration.Web})
			if err != nil {
				t.Fatal(err)
			}
			h.shutDown()
			want := `level=INFO msg=listening url=http://127.0.0.1:3000 page=http://127.0.0.1:3000/ agents="buyer, coordinator, demo, researcher on ` + test.model + `" data=memory` + "\n"
			if diff := cmp.Diff(want, log.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheHostWarnsOfKeysUnderOtherNames(t *testing.T) {
	const want = `level=WARN msg="no provider key is set, the model is scripted" found=OPEN_AI_KEY did_you_mean=OPENAI_API_KEY` + "\n"
	tests := []struct {
		name    string
		environ []string
		want    string
	}{
		{"no key", nil, ""},
		{"a near name", []string{"OPEN_AI_KEY=k"}, want},
		{"a near name and another key", []string{"OPEN_AI_KEY=k", "GROQ_API_KEY=k"}, ""},
		{"a near name and a model", []string{"OPEN_AI_KEY=k", "REVEILLE_MODEL=scripted"}, ""},
		{"two near names", []string{"CLAUDE_KEY=k", "GOOGLE_API_KEY=k"}, strings.NewReplacer("OPEN_AI_KEY", `"CLAUDE_KEY, GOOGLE_API_KEY"`, "OPENAI_API_KEY", `"ANTHROPIC_API_KEY, GEMINI_API_KEY"`).Replace(want)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := settings.Read(test.environ)
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			warnOfKeys(untimed(&log), s)
			if diff := cmp.Diff(test.want, log.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheHostWarnsOfAProxyThatIsNotUsed(t *testing.T) {
	const want = `level=WARN msg="requests to providers do not use the proxy" found=HTTPS_PROXY to_use_it="set REVEILLE_EGRESS_PROXY=on"` + "\n"
	for _, test := range []struct {
		name, variable string
		use            bool
		want           string
	}{
		{"no proxy", "", false, ""},
		{"a proxy", "HTTPS_PROXY", false, want},
		{"a proxy in small letters", "https_proxy", false, strings.Replace(want, "HTTPS_PROXY", "https_proxy", 1)},
		{"a proxy that is used", "HTTPS_PROXY", true, ""},
		{"a proxy for http only", "HTTP_PROXY", false, ""},
	} {
		var log strings.Builder
		warnOfProxy(untimed(&log), settings.Settings{Proxy: test.use}, func(name string) string {
			if name == test.variable {
				return "http://proxy.example:3128"
			}
			return ""
		})
		if diff := cmp.Diff(test.want, log.String()); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

func TestTheAddressIsOneThatAClientCanUse(t *testing.T) {
	tests := []struct{ name, addr, bound, want string }{
		{"the default", "127.0.0.1:3000", "127.0.0.1:3000", "127.0.0.1:3000"},
		{"a free port", "127.0.0.1:0", "127.0.0.1:40001", "127.0.0.1:40001"},
		{"a name", "dev.example:3000", "10.0.0.7:3000", "dev.example:3000"},
		{"a port by name", "localhost:http", "127.0.0.1:80", "localhost:80"},
		{"IPv6", "[::1]:0", "[::1]:40001", "[::1]:40001"},
		{"every address", "0.0.0.0:3000", "[::]:3000", "localhost:3000"},
		{"every IPv6 address", "[::]:3000", "[::]:3000", "localhost:3000"},
		{"no name", ":3000", "[::]:3000", "localhost:3000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bound, err := net.ResolveTCPAddr("tcp", test.bound)
			if err != nil {
				t.Fatal(err)
			}
			if got := reachable(test.addr, bound); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestAHostThatStopsSaysWhatItWaitsFor(t *testing.T) {
	tests := []struct {
		runs, requests int
		want           string
	}{
		{0, 0, "stopping"},
		{2, 1, "stopping: 2 runs active, 1 request open; a second signal ends the host immediately"},
		{0, 2, "stopping: 0 runs active, 2 requests open; a second signal ends the host immediately"},
		{1, 0, "stopping: 1 run active, 0 requests open; a second signal ends the host immediately"},
	}
	for _, test := range tests {
		if got := stopping(test.runs, test.requests); got != test.want {
			t.Errorf("%d runs, %d requests: %q, want %q", test.runs, test.requests, got, test.want)
		}
	}
}

// TestWhatIsUnderWayIsCounted stops a host in the middle of a stream.
func TestWhatIsUnderWayIsCounted(t *testing.T) {
	var log strings.Builder
	s, err := settings.Read([]string{"REVEILLE_DATA=memory"})
	if err != nil {
		t.Fatal(err)
	}
	running := serveLogged(t, s, untimed(&log))
	open(t, request(t, "POST", running.url+"/v1/ai-sdk/chat", strings.Replace(chat, "echo: hello", "slow: 10", 1)), `"delta":"w1"`)
	running.stop()
	if err := <-running.ended; err != nil {
		t.Fatal(err)
	}
	want := `level=INFO msg="stopping: 1 run active, 1 request open; a second signal ends the host immediately"`
	if !strings.Contains(log.String(), want) {
		t.Errorf("the log says\n%s\nwant in it %s", log.String(), want)
	}
}

// TestASecondHostAtTheSameAddressTouchesNothing: the first one's file is none of
// its business, even where it is not locked.
func TestASecondHostAtTheSameAddressTouchesNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	addr, folder := listener.Addr().String(), t.TempDir()
	data := folder + "/new/data.db"
	err = start(context.Background(), []string{"REVEILLE_ADDR=" + addr, "REVEILLE_DATA=" + data}, demonstration)
	want := "address " + addr + " is in use, maybe by another local host: end that program, or set REVEILLE_ADDR to another address"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if entries := entries(t, folder); len(entries) != 0 {
		t.Errorf("it made %q", entries)
	}
}

func entries(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}
