package local

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/timer"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// sleepers is the demo with an agent that has the tool wait_until.
func sleepers() wiring.Deployment {
	d := demonstration
	d.Parts = func(models map[string]agent.ModelBinding) (agent.Parts, error) {
		parts, err := demo.Parts(models)
		if err == nil {
			parts.Plugins = append(parts.Plugins, plugin.Plugin(timer.Plugin{}))
			parts.Specs[0].Plugins = append(parts.Specs[0].Plugins, timer.ID)
		}
		return parts, err
	}
	return d
}

// bubble is a host on a file without a network, for tests with a clock of their own.
type bubble struct {
	t    *testing.T
	data string
	host *localHost
}

// open starts a host on the file. The test closes it.
func (b *bubble) open() {
	b.t.Helper()
	s, err := settings.Read([]string{"REVEILLE_DATA=" + b.data})
	if err != nil {
		b.t.Fatal(err)
	}
	if b.host, err = newHost(b.t.Context(), env.System(), s, slog.New(slog.DiscardHandler), sleepers()); err != nil {
		b.t.Fatal(err)
	}
}

// asks sends a request, and decodes the response into the value.
func (b *bubble) asks(method, path, body string, into any) {
	b.t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Host = "127.0.0.1:3000"
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	b.host.handler.ServeHTTP(response, request)
	if response.Code >= http.StatusBadRequest {
		b.t.Fatalf("%s %s: %d %s", method, path, response.Code, response.Body)
	}
	if err := json.Unmarshal(response.Body.Bytes(), into); err != nil {
		b.t.Fatal(err)
	}
}

// becomes waits until the run has the status, and returns the time.
func (b *bubble) becomes(run, status string) time.Time {
	b.t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		var got struct{ Status string }
		if b.asks(http.MethodGet, "/v1/runs/"+run, "", &got); got.Status == status {
			return time.Now()
		}
	}
	b.t.Fatalf("run %s is not %s within a minute", run, status)
	return time.Time{}
}

// What is to happen at a time happens within a second of it, and not before it, also if the host
// was down until shortly before.
func TestTimesAreKeptAcrossARestart(t *testing.T) {
	const waits, delayed = `{"messages":[{"role":"user","content":"call: wait_until {\"seconds\":%d}"}]}`, `{"messages":[{"role":"user","content":"hello"}],"delay_ms":%d000}`
	tests := []struct {
		name    string
		body    string
		until   int           // seconds
		stopped time.Duration // after the start
		started time.Duration
	}{
		{"a wait", waits, 7, 2 * time.Second, 3 * time.Second},
		{"a wait whose time comes right after a sweep", waits, 13, 2 * time.Second, 7900 * time.Millisecond},
		{"a wait whose time has passed", waits, 7, 2 * time.Second, 7 * time.Second},
		{"a long wait", waits, 1800, 25 * time.Minute, 29*time.Minute + 58*time.Second},
		{"a long wait, some sweeps before", waits, 1800, 25 * time.Minute, 29 * time.Minute},
		{"a wait of days", waits, 3 * 86400, time.Hour, 3*24*time.Hour - 33*time.Second},
		{"a delayed run", delayed, 7, 2 * time.Second, 2 * time.Second},
		{"a delayed run of tomorrow", delayed, 86400, time.Hour, 24*time.Hour - 13*time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bubble{t: t, data: filepath.Join(t.TempDir(), "data")}
				b.open()
				var receipt struct {
					RunID string `json:"run_id"`
				}
				began := time.Now()
				b.asks(http.MethodPost, "/v1/threads/p/messages", fmt.Sprintf(tt.body, tt.until), &receipt)
				status := map[string]string{waits: "waiting", delayed: "created"}[tt.body]
				b.becomes(receipt.RunID, status)
				time.Sleep(time.Until(began.Add(tt.stopped)))
				b.host.shutDown()
				time.Sleep(time.Until(began.Add(tt.started)))
				b.open()
				defer b.host.shutDown()
				due := time.Duration(tt.until) * time.Second
				time.Sleep(time.Until(began.Add(due)) - time.Second)
				if time.Since(began) < due {
					b.becomes(receipt.RunID, status)
				}
				if took := b.becomes(receipt.RunID, "done").Sub(began); took < due || took > due+time.Second {
					t.Errorf("the run is over after %s, want it within a second after %s", took, due)
				}
			})
		})
	}
}
