package local

import (
	"io"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// given is what the runtime of a host with these variables is built of.
func given(t *testing.T, environ ...string) host.Options {
	t.Helper()
	s, err := settings.Read(environ)
	if err != nil {
		t.Fatal(err)
	}
	e, log := env.System(), slog.New(slog.DiscardHandler)
	h := &localHost{queue: newQueue(e, log), log: log}
	config, err := h.configure(e, s, memory.New(), agent.Parts{Default: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// Each row is a promise of README.md that one line of configure keeps.
func TestTheHostIsWiredAsTheDocumentsSay(t *testing.T) {
	defaults := given(t)
	set := given(t,
		"REVEILLE_LEASE=45s", "REVEILLE_SWEEP_INTERVAL=2s", "REVEILLE_STEPS_PER_INVOCATION=7", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512", "REVEILLE_USAGE_DAYS=30",
		"REVEILLE_WEBHOOK_URL=http://127.0.0.1:1/in", "REVEILLE_WEBHOOK_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		`REVEILLE_LIMITS={"default":{"spend_a_day_usd":5}}`,
		`REVEILLE_MODEL_CATALOG={"models":[{"provider":"p","names":["m"],"prices":[{"from":"2026-01-01","input":3,"output":4,"source":"a contract"}]}]}`,
	)
	cost, known := set.Prices("p", "m", core.Usage{Input: 1_000_000}, time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	for _, row := range []struct {
		promise   string
		got, want any
	}{
		{"a stream goes on as long as its run, since a client that leaves is seen", defaults.FollowFor, time.Duration(0)},
		{"a claim holds for 30 s", defaults.Lease, 30 * time.Second},
		{"what becomes due between two sweeps is woken in time", defaults.SweepAhead, 10 * time.Second},
		{"REVEILLE_SWEEP_INTERVAL", set.SweepAhead, 4 * time.Second},
		{"REVEILLE_LEASE", set.Lease, 45 * time.Second},
		{"one step for each delivery", defaults.Steps, 1},
		{"REVEILLE_STEPS_PER_INVOCATION", set.Steps, 7},
		{"a quarter of the memory keeps conversations", set.CacheSize, 128 << 20},
		{"no run is released for another build: there is none", defaults.LeaveFor < 0, true},
		{"an idle follower looks every 5 s", defaults.FollowInterval, 5 * time.Second},
		{"nobody is told without an address", defaults.Publisher == nil, true},
		{"REVEILLE_WEBHOOK_URL, also of this machine", set.Publisher != nil, true},
		{"usage is kept for 396 days", defaults.Metering.Keep, 396 * 24 * time.Hour},
		{"REVEILLE_USAGE_DAYS", set.Metering.Keep, 30 * 24 * time.Hour},
		{"units have no price here", defaults.Metering.Rates == nil, true},
		{"models' prices are known to usage", defaults.Metering.Models != nil, true},
		{"/metrics is told what steps come to", defaults.Observer != nil, true},
		{"nothing is limited by itself", defaults.Limits.Spends(), false},
		{"REVEILLE_LIMITS", set.Limits.Spends(), true},
		{"REVEILLE_MODEL_CATALOG prices the limits", known && cost.String() == "3", true},
		{"the agents", defaults.Agents.Default, "demo"},
		{"a name in claims", defaults.Worker, "dev"},
		{"store, queue, environment, log", defaults.Env != nil && defaults.Store != nil && defaults.Waker != nil && defaults.Logger != nil, true},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.promise, diff)
		}
	}
}

// What is on AWS alone is refused by its name here, and not ignored.
func TestTheHostRefusesSettingsOfAWS(t *testing.T) {
	for _, variable := range []string{"REVEILLE_EVENT_BUS=runs"} {
		s, err := settings.Read([]string{variable})
		if err != nil {
			t.Fatal(err)
		}
		e, log := env.System(), slog.New(slog.DiscardHandler)
		if _, err := (&localHost{queue: newQueue(e, log), log: log}).configure(e, s, memory.New(), agent.Parts{}); err == nil {
			t.Errorf("%s is accepted", variable)
		}
	}
}

// Each row is a handler that newHost and build put before the routes, by what only it does.
func TestTheHostsHandlersAreBeforeItsRoutes(t *testing.T) {
	s, err := settings.Read([]string{"REVEILLE_DATA=memory", "REVEILLE_ORIGINS=https://app.example", "REVEILLE_TENANT=acme"})
	if err != nil {
		t.Fatal(err)
	}
	url, _ := serveSettings(t, s)
	for _, row := range []struct {
		promise, method, path string
		header                map[string]string
		status                int
		wantHeader, want      string
	}{
		{"names of other machines are refused", "GET", "/health", map[string]string{"Host": "evil.example"}, 421, "", ""},
		{"pages of other sites are refused", "POST", "/v1/runs", map[string]string{"Origin": "https://evil.example", "Content-Type": "application/json"}, 403, "", ""},
		{"REVEILLE_ORIGINS may read", "GET", "/health", map[string]string{"Origin": "https://app.example"}, 200, "Access-Control-Allow-Origin", "https://app.example"},
		{"metrics are shown", "GET", "/metrics", nil, 200, "", ""},
		{"the page is shown", "GET", "/", nil, 200, "", ""},
		{"triggers have their routes", "POST", "/v1/triggers/none", map[string]string{"Content-Type": "application/json"}, 404, "", ""},
	} {
		r, err := http.NewRequest(row.method, url+row.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range row.header {
			r.Header.Set(name, value)
		}
		r.Host = r.Header.Get("Host")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != row.status || row.wantHeader != "" && response.Header.Get(row.wantHeader) != row.want {
			t.Errorf("%s: status %d, %s %q; want %d, %q", row.promise, response.StatusCode, row.wantHeader, response.Header.Get(row.wantHeader), row.status, row.want)
		}
	}
}

// REVEILLE_SWEEP_INTERVAL is how often the host looks for work whose wake-up was lost.
func TestTheHostSweepsAsOftenAsItIsTold(t *testing.T) {
	s, err := settings.Read([]string{"REVEILLE_DATA=memory", "REVEILLE_SWEEP_INTERVAL=50ms"})
	if err != nil {
		t.Fatal(err)
	}
	url, h := serveSettings(t, s)
	h.queue.closed.Store(true) // hints are lost
	if status, body := post(t, url+"/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"hello"}]}`); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	h.queue.closed.Store(false)
	for n := 0; !slices.Contains(said(t, url, "t1"), "assistant: You said: hello"); n++ {
		if n > 1000 {
			t.Fatal("nobody has found the run after 10 s")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
