//go:build aws

package deployed

import (
	"io"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/scripts/verify/alarms"
)

// minuteAfter is when alarms have the minute in which something has just happened, and hoursAfter when
// they have it no more.
func minuteAfter() time.Time { return time.Now().Add(time.Minute) }
func hoursAfter() time.Time  { return time.Now().Add(2 * time.Hour) }

// minutes are samples of each of the last three minutes before a time: what lasts for
// seconds here has lasted for three minutes.
func minutes(at time.Time, sample func(at time.Time) alarms.Sample) (samples []alarms.Sample) {
	for n := range 3 {
		samples = append(samples, sample(at.Add(-time.Duration(n+1)*time.Minute)))
	}
	return samples
}

// The provider responds with 503: runs that a client follows fail, others wait until it is
// back.
func TestIncidentProviderDown(t *testing.T) {
	t.Parallel()
	build(t, "scripts/user/doctor", "") // before anything fails
	provider := &outage{down: true}
	server := httptest.NewServer(provider)
	defer server.Close()
	mains := maps.Clone(folders)
	mains["StepFunction"], mains["StreamFunction"] = "scripts/verify/deployed/wire/step", "scripts/verify/deployed/wire/stream"
	d := deployWith(t, map[string]string{"Auth": "none", "Model": "openai/gpt-5-mini", "ModelBaseUrl": server.URL, "EgressAllow": "127.0.0.1", "StepTimeout": "60"}, deployOptions{folders: mains})
	stop := d.poll(t)
	rest, http := d.door(t, "RestApi"), d.door(t, "HttpApi")
	const background = "background"
	threads := []string{"s1", "s2", "s3", "s4", "s5"}
	var bodies []io.Reader
	for _, id := range threads { // which retry side by side
		bodies = append(bodies, chat(t, rest, id, "hello").Body)
	}
	for _, body := range bodies {
		readAll(t, body)
	}
	for _, id := range threads {
		d.ends(t, id)
	}
	d.says(t, http, background, "hello")
	d.checkPatience(t, background, 1)
	d.checkAlarming(t, "while the provider is down", minuteAfter(), nil, "FailedRuns", "ProviderErrors")
	d.checkShown(t, "FailedRuns", []string{"reason", "tenant", "agent", "thread"},
		"model public demo s1", "model public demo s2", "model public demo s3", "model public demo s4", "model public demo s5")
	d.checkShown(t, "ProviderErrors", []string{"provider", "model", "reason"}, "openai-compatible gpt-5-mini overloaded")
	d.checkDoctor(t, "while the provider is down", d.doctor(t, nil),
		"problem failed-runs 5: see the page of the alarm for the code in infra/README.md, then retry the runs",
		"warn models 1: look for \"model call failed\" in the log of Step, and check key, quota and status of the provider")
	d.checkPatience(t, background, 3) // with which a streamed run ends
	provider.set(false)
	d.ends(t, background) // with its next call
	for _, id := range threads {
		d.says(t, http, id, "hello again")
	}
	for _, id := range threads {
		d.ends(t, id)
	}
	stop()
	d.checkAlarming(t, "after the incident", hoursAfter(), nil)
	d.checkDoctor(t, "after the incident", d.doctor(t, nil))
}

// DynamoDB throttles writes of the table and reads of its index due.
func TestIncidentThrottled(t *testing.T) {
	t.Parallel()
	full := &throttle{}
	d := deployWith(t, map[string]string{"Auth": "none", "StepTimeout": "60"}, deployOptions{folders: folders, full: full})
	http := d.door(t, "HttpApi")
	d.says(t, http, "t1", "echo: a")
	full.set(func(operation, index string) bool { return operation == "PutItem" || index == "due" })
	stop := d.poll(t)
	for begin := time.Now(); full.counts()["PutItem"] < 10 && time.Since(begin) < time.Minute; time.Sleep(100 * time.Millisecond) {
	}
	if _, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), []byte(`{}`)); err == nil {
		t.Error("a sweep that read nothing has passed")
	}
	counts := full.counts()
	if counts["PutItem"] < 10 || counts["Query due"]+counts["Scan due"] == 0 {
		t.Fatalf("refusals: %v", counts)
	}
	at := minuteAfter()
	d.checkAlarming(t, "while writes are throttled", at, minutes(at, func(at time.Time) alarms.Sample {
		return ownSample("AWS/DynamoDB", "WriteThrottleEvents", at, float64(counts["PutItem"]), "TableName", d.table)
	}), "TableThrottles")
	d.checkAlarming(t, "while an index is throttled", at, minutes(at, func(at time.Time) alarms.Sample {
		return ownSample("AWS/DynamoDB", "ReadThrottleEvents", at, 10, "TableName", d.table, "GlobalSecondaryIndexName", "due")
	}), "TableThrottles")
	all := &throttle{refuses: func(string, string) bool { return true }}
	server := httptest.NewServer(all)
	defer server.Close()
	got := d.doctor(t, []string{"AWS_ENDPOINT_URL_DYNAMODB=" + server.URL})
	if !slices.ContainsFunc(got, func(line string) bool {
		return strings.HasPrefix(line, "problem store ") && strings.HasSuffix(line, ": check the table's throttle metrics; raise its on-demand limits or wait")
	}) {
		t.Errorf("the doctor prints %q", got)
	}
	full.set(nil)
	d.ends(t, "t1")
	stop()
	d.checkAlarming(t, "after the incident", hoursAfter(), nil)
	d.checkShown(t, "TableThrottles", []string{"tenant", "called"}, "public 2")
	d.checkDoctor(t, "after the incident", d.doctor(t, nil))
}

// A tool of a thread ends its process each time.
func TestIncidentPoisonThread(t *testing.T) {
	t.Parallel()
	d := deployWith(t, map[string]string{"Auth": "none", "StepTimeout": "60"}, deployOptions{folders: folders, variables: []string{"REVEILLE_LEASE=1s"}})
	d.says(t, d.door(t, "HttpApi"), "poison", "call: crash {}")
	crashes := 0
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(200 * time.Millisecond) {
		if h := d.head(t, "poison"); !h.Busy(0) {
			break
		}
		if _, err := d.host.Invoke(t.Context(), d.name(t, "StepFunction"), eventFor(t, core.WakeUp{Tenant: tenant, Thread: "poison"})); err != nil {
			crashes++
		}
	}
	if crashes != 6 { // one after the turn of the model was stored, and five without progress
		t.Errorf("%d crashes", crashes)
	}
	at := minuteAfter()
	d.checkAlarming(t, "after the dead letter", at, nil, "DeadLetters")
	d.checkAlarming(t, "if it takes longer", at, minutes(at, func(at time.Time) alarms.Sample {
		return ownSample("AWS/Lambda", "Errors", at, 3, "FunctionName", d.name(t, "StepFunction"))
	}), "DeadLetters", "StepErrors")
	d.checkShown(t, "DeadLetters", []string{"Kind", "tenant", "agent", "thread"}, "run public demo poison")
	d.emptyQueue(t)
	d.checkDoctor(t, "after the dead letter", d.doctor(t, nil),
		"problem dead-runs 1: look for the run in the log of Step, fix the cause, then send the message again")
	d.checkAlarming(t, "after the incident", hoursAfter(), nil)
	time.Sleep(time.Second) // the window of the next examination
	d.checkDoctor(t, "after the incident", d.doctor(t, nil, "-window", "1s"))
}

// limits allow a tenant two runs at a time.
const limits = `{"default":{"concurrent_runs":2}}`

// A tenant sends more than the others together, until it reaches its limit.
func TestIncidentHotTenant(t *testing.T) {
	t.Parallel()
	d := deployWith(t, map[string]string{"Auth": "none", "StepTimeout": "60", "Limits": limits}, deployOptions{folders: folders})
	var tenants account.Tenants
	if err := tenants.Decode([]byte(limits)); err != nil {
		t.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: d.store, Waker: d.queue, Limits: tenants})
	if err != nil {
		t.Fatal(err)
	}
	submit := func(tenant, thread, text string) error {
		_, err := box.Submit(t.Context(), mailbox.Submission{
			Thread: core.ThreadKey{Tenant: tenant, Thread: thread}, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage(text).WithID("m1")},
		})
		return err
	}
	over := func(tenant, thread string) {
		t.Helper()
		for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(100 * time.Millisecond) {
			if h, err := d.store.Head(t.Context(), core.ThreadKey{Tenant: tenant, Thread: thread}); err != nil || h.Version > 0 && !h.Busy(0) && h.Claim.Fence == 0 {
				return
			}
		}
		t.Fatalf("thread %s of %s is not done", thread, tenant)
	}
	for _, id := range []string{"h1", "h2"} {
		if err := submit("hot", id, "echo: a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := submit("hot", "h3", "echo: a"); core.CodeOf(err) != core.CodeTenantLimit {
		t.Errorf("a third run was not refused: %v", err)
	}
	if err := submit("quiet", "q1", "echo: a"); err != nil {
		t.Fatal(err)
	}
	d.checkDoctor(t, "while the tenant is at its limit", d.doctor(t, []string{"REVEILLE_LIMITS=" + limits}),
		"warn tenants 1: set or raise limits of these tenants (parameter Limits)")
	stop := d.poll(t)
	over("quiet", "q1")
	over("hot", "h1")
	over("hot", "h2")
	stop()
	at := minuteAfter()
	d.checkAlarming(t, "while Lambda has no more concurrency", at, minutes(at, func(at time.Time) alarms.Sample {
		return ownSample("AWS/Lambda", "Throttles", at, 10, "FunctionName", d.name(t, "StepFunction"))
	}), "StepThrottles")
	rows := d.shows(t, "StepThrottles")
	if len(rows) != 2 || rows[0]["tenant"] != "hot" || rows[0]["ended"] != "2" || rows[1]["tenant"] != "quiet" || rows[1]["ended"] != "1" {
		t.Errorf("the query shows %v", rows)
	}
	d.checkAlarming(t, "after the incident", hoursAfter(), nil)
	d.checkDoctor(t, "after the incident", d.doctor(t, []string{"REVEILLE_LIMITS=" + limits}))
}

// Step does not run for some minutes: wake-ups wait, and were lost.
func TestIncidentQueueBehind(t *testing.T) {
	t.Parallel()
	d := deploy(t, map[string]string{"Auth": "none", "StepTimeout": "60"})
	past := env.System()
	past.Now = func() time.Time { return time.Now().Add(-10 * time.Minute) }
	lost, err := mailbox.New(mailbox.Options{Env: past, Store: d.store, Waker: &mailboxtest.Queue{}})
	if err != nil {
		t.Fatal(err)
	}
	d.box = lost
	threads := []string{"l1", "l2", "l3"}
	for _, id := range threads {
		d.submit(t, id, "echo: a")
	}
	at := minuteAfter()
	d.checkAlarming(t, "while nothing runs", at, minutes(at, func(at time.Time) alarms.Sample {
		return ownSample("AWS/SQS", "ApproximateAgeOfOldestMessage", at, 600, "QueueName", d.name(t, "Queue"))
	}), "LateWakeUps")
	d.checkDoctor(t, "while nothing runs", d.doctor(t, nil),
		"problem overdue 3: check that Sweep runs each minute and that Step is not throttled, then see the check wake-ups")
	stop := d.poll(t)
	if _, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	for _, id := range threads {
		d.ends(t, id)
	}
	stop()
	d.checkAlarming(t, "when the steps were late", minuteAfter(), nil, "LateSteps")
	d.checkShown(t, "LateSteps", []string{"tenant", "agent", "late"}, "public demo 3")
	d.checkAlarming(t, "after the incident", hoursAfter(), nil)
	d.checkDoctor(t, "after the incident", d.doctor(t, nil))
}

// The bytes of a head are others than were written.
func TestIncidentDamagedHead(t *testing.T) {
	t.Parallel()
	d := deploy(t, map[string]string{"Auth": "none", "StepTimeout": "60"})
	stop := d.poll(t)
	http, lambda := d.door(t, "HttpApi"), d.invocations(t)
	d.says(t, http, "t1", "echo: a")
	d.ends(t, "t1")
	d.checkAlarming(t, "before the incident", minuteAfter(), nil)
	d.spoilsHead(t, "t1")
	d.checkDoctor(t, "with a damaged head", d.doctor(t, nil),
		"problem damaged 1: restore the item from a backup, or run doctor quarantine THREAD or doctor delete THREAD")
	if _, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	d.comes(t, "the worker quarantines it", func() bool {
		stored, err := d.store.StoredHead(t.Context(), key("t1"))
		return err == nil && stored.Quarantined != 0
	})
	d.comes(t, "the worker says so", func() bool { return len(d.shows(t, "DeadLetters")) > 0 })
	d.checkAlarming(t, "with a quarantined thread", minuteAfter(), nil, "DeadLetters")
	d.checkShown(t, "DeadLetters", []string{"Kind", "tenant", "thread"}, "thread public t1")
	d.checkShown(t, "StepErrors", []string{"level", "msg", "tenant", "thread"}, "ERROR thread quarantined, its head is damaged public t1")
	got := d.doctor(t, nil)
	if len(got) != 1 || !strings.HasPrefix(got[0], "problem quarantined 1: ") {
		t.Errorf("the doctor prints %q", got)
	}
	if _, text := d.examined(t, lambda, "delete", "public/t1"); !strings.Contains(text, "public/t1 is deleted") {
		t.Errorf("delete:\n%s", text)
	}
	d.comes(t, "its records are erased", func() bool {
		_, ok, err := d.store.Get(t.Context(), key("t1"), store.LogName(1))
		return !ok && err == nil
	})
	stop()
	d.checkAlarming(t, "after the incident", hoursAfter(), nil)
	d.checkDoctor(t, "after the incident", d.doctor(t, nil))
}
