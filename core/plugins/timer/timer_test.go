package timer_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugins/timer"
	"github.com/reveille-run/reveille/core/reveille"
)

// program is one with an agent that waits as its input says: call: wait_until {...}.
func program(config timer.Config) (*reveille.Runtime, error) {
	return reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{{
			ID: "watch", Model: "scripted", Plugins: []string{timer.ID},
			Sections: reveille.Sections(timer.Section.Setting(config)),
		}},
		Models:  reveille.Models{"scripted": {Model: scripted.Rules()}},
		Plugins: []reveille.Plugin{timer.Plugin{}},
	}, nil)
}

// told is the result of the only call of a run.
func told(t *testing.T, r *reveille.Runtime, thread string) string {
	t.Helper()
	for m, err := range r.Messages(t.Context(), thread) {
		if err != nil {
			t.Fatal(err)
		}
		if m.ToolResult != nil {
			return string(m.ToolResult.Status) + " " + m.ToolResult.Text()
		}
	}
	return "none"
}

func TestWaits(t *testing.T) {
	const day = 86_400
	tests := []struct {
		name      string
		config    timer.Config
		arguments string
		after     time.Duration // until the run is over
		want      string
	}{
		{"seconds", timer.Config{}, `{"seconds":90,"note":"tea"}`, 90 * time.Second, `ok {"woken":"time","note":"tea"}`},
		{"a part of a second", timer.Config{}, `{"seconds":0.5}`, 500 * time.Millisecond, `ok {"woken":"time"}`},
		{"no time", timer.Config{}, `{"seconds":0}`, 0, `ok {"woken":"time"}`},
		{"a time", timer.Config{}, `{"time":"2000-01-02T01:00:00+01:00"}`, 24 * time.Hour, `ok {"woken":"time"}`},
		{"a time that has passed", timer.Config{}, `{"time":"1999-12-31T00:00:00Z"}`, 0, `ok {"woken":"time"}`},
		{"366 days", timer.Config{}, `{"seconds":31622400}`, 366 * 24 * time.Hour, `ok {"woken":"time"}`},
		{"a second more", timer.Config{}, `{"seconds":31622401}`, 0, "error the wait is longer than 31622400 seconds, the limit"},
		{"the agent's limit", timer.Config{MaxWaitSeconds: day}, `{"time":"2000-01-02T00:00:00Z"}`, 24 * time.Hour, `ok {"woken":"time"}`},
		{"a second beyond it", timer.Config{MaxWaitSeconds: day}, `{"time":"2000-01-02T00:00:01Z"}`, 0, "error the wait is longer than 86400 seconds, the limit"},
		{"endless", timer.Config{}, `{"seconds":1e300}`, 0, "error the wait is longer than 31622400 seconds, the limit"},
		{"neither", timer.Config{}, `{"note":"tea"}`, 0, "invalid invalid arguments: want either time or seconds"},
		{"both", timer.Config{}, `{"seconds":1,"time":"2000-01-02T00:00:00Z"}`, 0, "invalid invalid arguments: want either time or seconds"},
		{"less than none", timer.Config{}, `{"seconds":-1}`, 0, "invalid invalid arguments: seconds is -1, want 0 or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := program(tt.config)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				done, err := r.Run(t.Context(), reveille.Input{Thread: "t1", Text: "call: wait_until " + tt.arguments})
				if err != nil || done.Termination.Type != reveille.TerminationNatural {
					t.Fatalf("%v, %+v", err, done.Termination)
				}
				took := time.Since(began)
				if got := told(t, r, "t1"); !strings.HasPrefix(got, tt.want) || took < tt.after || took > tt.after+time.Second {
					t.Errorf("after %s the result is %s, want %s after %s", took, got, tt.want, tt.after)
				}
			})
		})
	}
}

// A person wakes a call early, with or without a payload, or cancels it.
func TestAPersonIsEarlier(t *testing.T) {
	tests := []struct {
		name string
		act  func(reveille.Ticket) reveille.Decision
		want string
	}{
		{"wakes it", reveille.Approve, `ok {"woken":"person","user":"ann","note":"the parcel"}`},
		{"says why", func(k reveille.Ticket) reveille.Decision {
			return reveille.Reply(k, json.RawMessage(`"the parcel is here"`))
		}, `ok {"woken":"person","user":"ann","said":"the parcel is here","note":"the parcel"}`},
		{"cancels it", func(k reveille.Ticket) reveille.Decision { return reveille.Deny(k, "never mind") }, `cancelled cancelled: never mind`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := program(timer.Config{})
				if err != nil {
					t.Fatal(err)
				}
				r = r.As(reveille.Identity{User: "ann"})
				ended := make(chan error, 1)
				go func() {
					_, err := r.Run(t.Context(), reveille.Input{Thread: "t1", Text: `call: wait_until {"seconds":86400,"note":"the parcel"}`})
					ended <- err
				}()
				synctest.Wait()
				th, err := r.Thread(t.Context(), "t1")
				if err != nil {
					t.Fatal(err)
				}
				run, err := r.ReadRun(t.Context(), th.ActiveRun)
				if err != nil || len(run.Tickets) != 1 {
					t.Fatalf("%v, %+v", err, run)
				}
				k := run.Tickets[0]
				if k.Kind != core.TicketTimer || k.Message != "the parcel" || k.WakeAt-k.CreatedAt != 86_400_000 || k.Keep {
					t.Errorf("the ticket is %+v", k)
				}
				time.Sleep(time.Hour)
				if err := r.Decide(t.Context(), run.ID, tt.act(k)); err != nil {
					t.Fatal(err)
				}
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, told(t, r, "t1")); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		seconds int64
		want    string
	}{
		{31_622_400, ""},
		{31_622_401, "max_wait_seconds is 31622401, allowed are 1 to 31622400, and 0 for 31622400"},
		{-1, "max_wait_seconds is -1, allowed are 1 to 31622400, and 0 for 31622400"},
	} {
		_, err := program(timer.Config{MaxWaitSeconds: tt.seconds})
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d seconds: %v, want %q", tt.seconds, err, tt.want)
		}
	}
}
