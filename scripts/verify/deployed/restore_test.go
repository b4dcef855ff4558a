//go:build aws

package deployed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/doctor"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/scripts/user/stack/restore"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// group is some of the threads of the drill, which are in one state at the marked moment.
type group struct {
	name, text string
	threads    int // a fifth of them with -short
	opening    mailbox.Opening
}

// The groups of the drill: 200 threads, or 40 with -short.
var (
	done    = group{"done", "hello", 30, mailbox.Opening{}}
	stored  = group{"stored", "echo: ", 3, mailbox.Opening{}} // with a large payload, an object each
	waiting = group{"waiting", "approve: ship it", 30, mailbox.Opening{}}
	claimed = group{"claimed", "parallel: a, b", 17, mailbox.Opening{}} // its worker was killed
	queued  = group{"queued", "hello", 40, mailbox.Opening{}}
	soon    = group{"soon", "hello", 10, mailbox.Opening{Delay: time.Second}}
	later   = group{"later", "hello", 70, mailbox.Opening{Delay: 24 * time.Hour}}
	lost    = group{"lost", "hello", 10, mailbox.Opening{}} // after the moment
)

func (g group) ids() (ids []string) {
	n := g.threads
	if testing.Short() {
		n = (n + 4) / 5
	}
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s-%d", g.name, i))
	}
	return ids
}

// each calls f for each thread of the groups, four at a time.
func each(t *testing.T, f func(id string), groups ...group) {
	t.Helper()
	var all sync.WaitGroup
	places := make(chan struct{}, 4)
	for _, g := range groups {
		for _, id := range g.ids() {
			places <- struct{}{}
			all.Go(func() {
				defer func() { <-places }()
				f(id)
			})
		}
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// begins makes the mailbox of the deployment. One batch of each mapping is under way at a time:
// moto has one thread.
func (d *deployment) begins(t *testing.T) {
	t.Helper()
	var err error
	if d.box, err = mailbox.New(mailbox.Options{Env: env.System(), Store: d.store, Waker: d.queue}); err != nil {
		t.Fatal(err)
	}
	for i := range d.pollers {
		d.pollers[i].Concurrency = 1
	}
}

func (d *deployment) opens(t *testing.T, groups ...group) {
	t.Helper()
	for _, g := range groups {
		text := g.text
		if g.name == stored.name {
			text += large()[:60<<10]
		}
		opening := g.opening
		opening.AgentID = "demo"
		each(t, func(id string) {
			if _, err := d.box.Submit(t.Context(), mailbox.Submission{Thread: key(id), Opening: opening, Messages: []core.Message{core.UserMessage(text).WithID("m1")}}); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}, g)
	}
}

// until waits until a condition holds for each thread of the groups.
func (d *deployment) until(t *testing.T, what string, holds func(store.Head) bool, groups ...group) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	each(t, func(id string) {
		for {
			h, err := d.store.Head(t.Context(), key(id))
			if err != nil || time.Now().After(deadline) {
				t.Errorf("%s is not %s: version %d, %d queued, claim %d, run %+v, %v", id, what, h.Version, len(h.Pending), h.Claim.Fence, h.Run.Status, err)
				return
			}
			if holds(h) {
				return
			}
			time.Sleep(time.Second / 2)
		}
	}, groups...)
}

func over(h store.Head) bool {
	return h.Version > 0 && !h.Busy(time.Now().UnixMilli()) && h.Claim.Fence == 0
}
func suspended(h store.Head) bool { return len(h.Tickets) == 1 && h.Claim.Fence == 0 }

// TestADeploymentIsRestoredToAMoment: 200 threads in every state are marked, work goes on and
// every process is killed. After the restore the threads are as they were, and go on.
func TestADeploymentIsRestoredToAMoment(t *testing.T) {
	t.Parallel()
	d := deploy(t, map[string]string{"Auth": "none", "LogLevel": "error", "StepTimeout": "60"})
	d.begins(t)
	a := newAccount(t, d)
	d.prepare(t, a)
	marked := d.states(t)

	d.goesOn(t)
	r := d.restores(t, a)
	next := d.redeploy(t, map[string]string{"Auth": "none", "LogLevel": "error", "StepTimeout": "60",
		"ThreadsTable": d.table + "-" + suffix(a), "ConfigTable": d.config + "-" + suffix(a)})
	next.begins(t)
	if diff := cmp.Diff([]string{d.table, d.config}, r.Old()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(marked, next.states(t)); diff != "" {
		t.Fatalf("threads at the marked moment (-) and after the restore (+):\n%s", diff)
	}
	next.settled(t)
	next.continues(t, a)
	for _, r := range next.roles(t) {
		for _, c := range r.refused {
			t.Errorf("%s may not %s", r.function, c)
		}
	}
}

func suffix(a *standIn) string { return a.moment.UTC().Format("20060102T150405Z") }

// prepare brings each group into its state, and marks it.
func (d *deployment) prepare(t *testing.T, a *standIn) {
	t.Helper()
	// The table has settings that a restore does not copy.
	table, err := a.tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &d.table})
	if err != nil {
		t.Fatal(err)
	}
	tags := []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}}
	if _, err := a.tables.TagResource(t.Context(), &dynamodb.TagResourceInput{ResourceArn: table.Table.TableArn, Tags: tags}); err != nil {
		t.Fatal(err)
	}

	d.opens(t, done, stored, waiting)
	stop := d.poll(t)
	d.until(t, "done", over, done, stored)
	d.until(t, "waiting", suspended, waiting)
	stop()
	t.Log("threads are done or wait")
	d.dieInTheMiddle(t)
	t.Log("threads are claimed by killed workers")
	d.opens(t, queued, later, soon)
	a.mark(d.table, d.config)
}

// dieInTheMiddle has a worker claim each thread of the group claimed, and be killed when it calls the model.
func (d *deployment) dieInTheMiddle(t *testing.T) {
	t.Helper()
	w := &world{table: d.table, config: d.config, queueURL: d.queueURL}
	var output strings.Builder
	f := w.function("killed", build(t, "scripts/verify/deployed/step", "killpoints"), 30*time.Second, "REVEILLE_LEASE=1s", "REVEILLE_KILL_AT="+atModel+".before")
	h, err := host.New(host.Options{Logger: slog.New(slog.DiscardHandler), Output: &output}, f)
	if err != nil {
		t.Fatal(err)
	}
	d.opens(t, claimed)
	p := host.Poller{Host: h, Queue: transport{d.queue}, Function: "killed", Wait: time.Second, BatchSize: 1, Concurrency: 2}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	d.until(t, "claimed", func(h store.Head) bool { return h.Claim.Fence > 0 }, claimed)
	stop()
	if err := errors.Join(<-ended, h.Close()); err != nil {
		t.Fatal(err)
	}
}

// states is what the store has of each thread: its log and what it still has to do.
func (d *deployment) states(t *testing.T) map[string]string {
	t.Helper()
	var mu sync.Mutex
	all := map[string]string{}
	each(t, func(id string) {
		h := d.head(t, id)
		state := fmt.Sprintf("version %d, sequence %d, fence %d, %d queued, %d delayed, %d tickets: %s", h.Version, h.Seq, h.Claim.Fence, len(h.Pending), len(h.Delayed), len(h.Tickets), strings.Join(d.messages(t, id), "; "))
		mu.Lock()
		defer mu.Unlock()
		all[id] = state
	}, done, stored, waiting, claimed, queued, soon, later, lost)
	return all
}

// goesOn is the time that is lost: runs end, waiting ones are decided, threads are deleted with
// their objects, others begin. Then every process is killed at its work.
func (d *deployment) goesOn(t *testing.T) {
	t.Helper()
	stop := d.poll(t)
	d.opens(t, lost)
	each(t, func(id string) { d.decides(t, id) }, group{waiting.name, "", 10, mailbox.Opening{}})
	each(t, func(id string) {
		if err := d.box.Delete(t.Context(), key(id), ""); err != nil {
			t.Error(err)
		}
	}, stored, group{done.name, "", 5, mailbox.Opening{}})
	d.until(t, "done", over, lost)
	for begin := time.Now(); d.objects.keys(d.output(t, "PayloadBucketName")) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("objects of deleted threads are left")
		}
	}
	d.opens(t, group{"killed", "parallel: a, b", 5, mailbox.Opening{}})
	if err := d.host.Close(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	stop()
}

// decides approves the one call that waits.
func (d *deployment) decides(t *testing.T, id string) {
	t.Helper()
	h := d.head(t, id)
	if len(h.Tickets) != 1 {
		t.Errorf("%s has %d tickets", id, len(h.Tickets))
		return
	}
	for _, m := range d.log(t, id) {
		for _, c := range m.ToolCalls {
			if _, err := d.box.Decide(t.Context(), key(id), mailbox.Deciding{Target: c.ID, Decision: core.Decision{ID: "yes", Action: core.DecisionResume}}); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}

// restores runs the restore to the marked moment.
func (d *deployment) restores(t *testing.T, a *standIn) *restore.Restore {
	t.Helper()
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
	})
	access, err := restore.NewAccount(awsenv.Config{Region: "us-east-1", Credentials: credentials, Getenv: a.environment()})
	if err != nil {
		t.Fatal(err)
	}
	stopped := func(_ context.Context, threads, config string) error {
		if !a.stopped() || threads != d.table+"-"+suffix(a) || config != d.config+"-"+suffix(a) {
			return fmt.Errorf("the tables are %s and %s, everything is stopped: %v", threads, config, a.stopped())
		}
		return nil
	}
	var said strings.Builder
	slept := time.Duration(0) // no process runs, so that none has to be waited for
	r := &restore.Restore{
		Deployment: restore.Deployment{Stack: d.named.Name, Threads: d.table, Config: d.config, Bucket: d.output(t, "PayloadBucketName"), Functions: map[string]string{}, Schedules: []string{"sweep"}},
		To:         a.moment, Account: access, File: filepath.Join(t.TempDir(), "restore.json"), Switch: stopped, Out: io.MultiWriter(&said, t.Output()),
		Now:   func() time.Time { return time.Now().Add(slept) },
		Sleep: func(_ context.Context, d time.Duration) error { slept += d; return nil },
	}
	r.Check = func(ctx context.Context, threads, config string) error {
		lines, err := access.Examine(ctx, threads, config, r.Bucket)
		for _, l := range lines {
			fmt.Fprintln(r.Out, " ", l)
			if l.Status == doctor.Problem {
				err = errors.Join(err, errors.New(l.String()))
			}
		}
		return errors.Join(err, stopped(ctx, threads, config))
	}
	for id := range folders {
		r.Functions[id] = d.name(t, id)
	}
	if err := errors.Join(r.Plan(t.Context()), r.Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	if a.stopped() || !a.mapping || a.schedule != "ENABLED" || len(a.reserved) != 1 || a.reserved[d.name(t, "StreamFunction")] != 100 {
		t.Errorf("after the restore: mapping %v, schedule %s, reserved %v", a.mapping, a.schedule, a.reserved)
	}
	if !strings.Contains(said.String(), "15m") {
		t.Error("the restore has not waited for invocations of Stream")
	}
	return r
}

// settled checks the settings of the restored tables, and the objects.
func (d *deployment) settled(t *testing.T) {
	t.Helper()
	tables, _ := clients(t)
	expiry, err := tables.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &d.table})
	if err != nil || aws.ToString(expiry.TimeToLiveDescription.AttributeName) != "x" || expiry.TimeToLiveDescription.TimeToLiveStatus != "ENABLED" {
		t.Errorf("time to live %+v, %v", expiry, err)
	}
	for _, name := range []string{d.table, d.config} {
		backups, err := tables.DescribeContinuousBackups(t.Context(), &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
		if err != nil || backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != "ENABLED" {
			t.Errorf("%s: backups %+v, %v", name, backups, err)
		}
	}
	table, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &d.table})
	if err != nil {
		t.Fatal(err)
	}
	tags, err := tables.ListTagsOfResource(t.Context(), &dynamodb.ListTagsOfResourceInput{ResourceArn: table.Table.TableArn})
	if err != nil || len(tags.Tags) != 1 || aws.ToString(tags.Tags[0].Key) != "team" || len(table.Table.GlobalSecondaryIndexes) != 3 {
		t.Errorf("tags %+v, %d indexes, %v", tags, len(table.Table.GlobalSecondaryIndexes), err)
	}
	for _, id := range stored.ids() {
		if got := d.messages(t, id); len(got) < 3 || strings.Count(strings.Join(got, " "), large()[:60<<10]) < 3 {
			t.Errorf("%s has %d messages without the large text", id, len(got))
		}
	}
}

// counted is how many calls the tool's process has executed, of any thread.
var counted = regexp.MustCompile(`"executions":\d+`)

// continues has the functions work on the restored tables, with the hints of the lost time still in the queue.
func (d *deployment) continues(t *testing.T, a *standIn) {
	t.Helper()
	a.age(d.table, 10)
	d.poll(t)
	for range 3 {
		if result, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), []byte(`{}`)); err != nil {
			t.Fatalf("the sweep returned %s, %v", result.Payload, err)
		}
	}
	api := d.door(t, "HttpApi")
	each(t, func(id string) { d.decides(t, id) }, waiting)
	d.until(t, "done", over, done, stored, waiting, claimed, queued, soon)
	want := map[string][]string{
		"waiting-0": {"user: approve: ship it", "assistant: ", `tool: {"text":"ship it","executions":N}`, "assistant: Done: ship it"},
		"claimed-0": {"user: parallel: a, b", "assistant: ", `tool: {"text":"a"}`, `tool: {"text":"b"}`, "assistant: Echo: a, b"},
		"queued-0":  {"user: hello", "assistant: You said: hello"},
		"soon-0":    {"user: hello", "assistant: You said: hello"},
		"done-0":    {"user: hello", "assistant: You said: hello"},
	}
	for _, g := range []group{waiting, claimed, queued, soon, done} {
		each(t, func(id string) {
			got := strings.Split(counted.ReplaceAllString(strings.Join(d.messages(t, id), "\n"), `"executions":N`), "\n")
			if diff := cmp.Diff(want[g.name+"-0"], got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
		}, g)
	}
	each(t, func(id string) {
		if h := d.head(t, id); len(h.Delayed) != 1 || h.Seq != 0 {
			t.Errorf("%s: %+v", id, h)
		}
	}, later)
	for _, id := range append(lost.ids(), "killed-0") {
		if status, body := send(t, "GET", api+"/v1/threads/"+id, ""); status != http.StatusNotFound {
			t.Errorf("thread %s of the lost time: %d %s", id, status, body)
		}
	}
	// A restored thread takes further messages, also those whose object has been erased once.
	d.says(t, api, "stored-0", "echo: "+large()[:60<<10])
	d.until(t, "done", func(h store.Head) bool { return over(h) && h.Seq > 4 }, group{stored.name, "", 1, mailbox.Opening{}})
	if got := d.messages(t, "stored-0"); strings.Count(strings.Join(got, " "), large()[:60<<10]) < 6 {
		t.Errorf("stored-0 has %d messages without the large text", len(got))
	}
}
