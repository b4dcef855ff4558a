//go:build aws

package deployed

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/scripts/verify/alarms"
	"github.com/reveille-run/reveille/scripts/verify/deployed/cost"
)

// watched are the lines that the functions of a deployment have printed.
func (d *deployment) watched() []alarms.Line {
	return alarms.Lines("", time.Now(), d.printed.bytes())
}

// shows runs the saved query of an alarm on all lines.
func (d *deployment) shows(t *testing.T, alarm string) []alarms.Row {
	t.Helper()
	queries, err := alarms.Queries(d.stack)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(queries, func(q alarms.Query) bool { return q.ID == alarm+"Query" })
	if i < 0 {
		t.Fatalf("there is no query of %s", alarm)
	}
	queries[i].Groups = nil // the host has one output for all functions
	rows, err := queries[i].Run(d.watched())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestOutcomesAreMetrics drives the built functions to each outcome, evaluates the template's
// alarms over what they printed, and runs the saved queries on it.
func TestOutcomesAreMetrics(t *testing.T) {
	t.Parallel()
	d := deploy(t, map[string]string{"Auth": "none", "StepTimeout": "60"})
	late := env.System()
	late.Now = func() time.Time { return time.Now().Add(-4 * time.Minute) }
	lost, err := mailbox.New(mailbox.Options{Env: late, Store: d.store, Waker: &mailboxtest.Queue{}})
	if err != nil {
		t.Fatal(err)
	}
	if d.box, err = mailbox.New(mailbox.Options{Env: env.System(), Store: d.store, Waker: d.queue}); err != nil {
		t.Fatal(err)
	}
	stop := d.poll(t)
	d.submit(t, "waits", "approve: ship it")
	for id, text := range map[string]string{"natural": "echo: a", "f1": "fail", "f2": "fail", "f3": "fail"} {
		d.submit(t, id, text)
		d.ends(t, id)
	}
	d.box = lost
	for _, id := range []string{"late1", "late2", "late3"} {
		d.submit(t, id, "echo: a")
	}
	if _, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), eventWith(t, "sweep-dlq.json", core.WakeUp{Tenant: tenant, Thread: "f1"})); err != nil {
		t.Fatal(err)
	}
	if _, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"late1", "late2", "late3"} {
		d.ends(t, id)
	}
	for begin := time.Now(); len(d.head(t, "waits").Tickets) == 0; time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("the run does not wait")
		}
	}
	stop()
	if _, err := d.host.Invoke(t.Context(), d.name(t, "TriggerFunction"), []byte(`{"trigger":"weekly","time":"2026-11-23T07:00:00Z"}`)); err == nil {
		t.Error("an unknown trigger was accepted")
	}
	d.checkAlarms(t)
	d.checkQueries(t)
}

// checkAlarms checks which alarms the lines raise, without samples of AWS's own metrics but
// for sweeps, whose lack is an alarm too.
func (d *deployment) checkAlarms(t *testing.T) {
	t.Helper()
	samples, err := alarms.Samples(d.watched())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(time.Minute)
	samples = append(samples, alarms.Sample{Namespace: "AWS/Lambda", Name: "Invocations", Dimensions: map[string]string{"FunctionName": d.name(t, "SweepFunction")}, At: at.Add(-time.Minute), Value: 1})
	all, err := alarms.Of(d.stack)
	if err != nil {
		t.Fatal(err)
	}
	got, err := alarms.Alarming(all, samples, at)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"DeadLetters", "FailedRuns", "LateSteps"}, got); diff != "" {
		t.Errorf("alarms (-want +got):\n%s\n%q", diff, alarms.Names(samples))
	}
	metrics := 0
	for _, a := range all {
		metrics += len(a.Stats())
	}
	if metrics != cost.AlarmMetrics {
		t.Errorf("the alarms watch %d metrics, the price is of %d", metrics, cost.AlarmMetrics)
	}
}

// checkQueries checks the rows of queries, and that each field that a query reads is one that
// a function has printed.
func (d *deployment) checkQueries(t *testing.T) {
	t.Helper()
	var failed, dead []string
	for _, row := range d.shows(t, "FailedRuns") {
		failed = append(failed, row["Function"]+" "+row["reason"]+" "+row["tenant"]+" "+row["agent"]+" "+row["thread"])
	}
	slices.Sort(failed)
	if diff := cmp.Diff([]string{"step model public demo f1", "step model public demo f2", "step model public demo f3"}, failed); diff != "" {
		t.Errorf("failed runs (-want +got):\n%s", diff)
	}
	for _, row := range d.shows(t, "DeadLetters") {
		dead = append(dead, row["Kind"]+" "+row["thread"]+" "+row["woken"])
	}
	if diff := cmp.Diff([]string{"wake_up f1 false"}, dead); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]alarms.Row{{"provider": "scripted", "model": "scripted", "reason": "invalid_request", "errors": "3"}}, d.shows(t, "ProviderErrors")); diff != "" {
		t.Errorf("errors of models (-want +got):\n%s", diff)
	}
	if rows := d.shows(t, "LateSteps"); len(rows) != 1 || rows[0]["late"] != "3" || rows[0]["tenant"] != "public" {
		t.Errorf("late steps are %v", rows)
	}
	if rows := d.shows(t, "LateWakeUps"); len(rows) != 1 || rows[0]["ended"] != "7" {
		t.Errorf("who uses the time is %v", rows)
	}
	printed := map[string]bool{"Expired": true} // no decision has expired: see the test of package emf
	for _, l := range d.watched() {
		for name := range l.Fields {
			printed[name] = true
		}
	}
	queries, err := alarms.Queries(d.stack)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queries {
		reads, err := q.Reads()
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range reads {
			if !printed[field] {
				t.Errorf("query %s reads the field %s, which no function has printed", q.Name, field)
			}
		}
	}
}
