package restore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var to = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

func number(n int) *int { return &n }

// deployed is an account with a stack whose Stream function has reserved concurrency, whose
// second mapping is off, and whose bucket has objects of every kind.
func deployed(t *testing.T) *cloud {
	at := func(minutes int) time.Time { return to.Add(time.Duration(minutes) * time.Minute) }
	return &cloud{
		t: t, earliest: to.Add(-time.Hour), latest: to.Add(time.Hour),
		tables: map[string]*table{
			"threads": {TTL: "x", Backups: true, Protected: true, MaxReads: 500, MaxWrites: -1, Tags: map[string]string{"aws:cloudformation:stack-name": "mine", "team": "a"}},
			"config":  {Backups: true, Protected: true, MaxReads: -1, MaxWrites: -1},
		},
		reserved: map[string]*int{"mine-Stream": number(100)}, mappings: map[string]string{"m1": "Enabled", "m2": "Disabled"}, schedules: map[string]string{"sweep": "ENABLED"},
		versions: []version{
			{Key: "a/kept", VersionId: "1", LastModified: at(-9)},
			{Key: "b/erased:before", VersionId: "1", LastModified: at(-9)},
			{Key: "c/erased:after", VersionId: "1", LastModified: at(-9)},
			{Key: "d/erased-twice", VersionId: "1", LastModified: at(-9)},
			{Key: "e/new", VersionId: "1", LastModified: at(5)},
			{Key: "f/new-and-erased", VersionId: "1", LastModified: at(5)},
			{Key: "g/erased:then", VersionId: "1", LastModified: at(-9)},
			{Key: "h/erased:a minute before", VersionId: "1", LastModified: at(-9)},
		},
		markers: []version{
			{Key: "b/erased:before", VersionId: "2", LastModified: at(-1).Add(-time.Second)},
			{Key: "c/erased:after", VersionId: "2", LastModified: at(1)},
			{Key: "d/erased-twice", VersionId: "2", LastModified: at(1)}, {Key: "d/erased-twice", VersionId: "3", LastModified: at(2)},
			{Key: "f/new-and-erased", VersionId: "2", LastModified: at(6)},
			{Key: "g/erased:then", VersionId: "2", LastModified: at(0)},
			{Key: "h/erased:a minute before", VersionId: "2", LastModified: at(-1)},
		},
	}
}

// restore is one of the stack, and what it calls and says.
func restore(t *testing.T, c *cloud, file string) (r *Restore, did *[]string, said *strings.Builder) {
	t.Helper()
	clock := to.Add(30 * time.Minute)
	did, said = &[]string{}, &strings.Builder{}
	r = &Restore{
		Deployment: Deployment{
			Stack: "mine", Threads: "threads", Config: "config", Bucket: "payloads",
			Functions: map[string]string{"StepFunction": "mine-Step", "StreamFunction": "mine-Stream"}, Schedules: []string{"sweep"},
		},
		To: to, Account: c.account(t), File: file, Out: said,
		Now: func() time.Time { return clock }, Sleep: instant(&clock),
	}
	note := func(what string) func(context.Context, string, string) error {
		return func(_ context.Context, threads, config string) error {
			if clock.Sub(to) < 45*time.Minute { // Stream has 15 minutes
				t.Errorf("%s after %s", what, clock.Sub(to))
			}
			*did = append(*did, what+" "+threads+" "+config+" step:"+reserved(c, "mine-Step")+" m1:"+c.mappings["m1"]+" sweep:"+c.schedules["sweep"])
			return nil
		}
	}
	r.Switch, r.Check = note("switch"), note("check")
	return r, did, said
}

func reserved(c *cloud, name string) string {
	switch n := c.reserved[name]; {
	case n == nil:
		return "none"
	case *n == 0:
		return "0"
	}
	return "some"
}

// restored checks that the account is what a finished restore leaves.
func restored(t *testing.T, c *cloud) {
	t.Helper()
	want := map[string]*table{
		"threads": deployed(t).tables["threads"], "config": deployed(t).tables["config"],
		"threads-20261129T100000Z": {Source: "threads", RestoreTo: to.Unix(), TTL: "x", Backups: true, Protected: true, MaxReads: 500, MaxWrites: -1, Tags: map[string]string{"team": "a"}},
		"config-20261129T100000Z":  {Source: "config", RestoreTo: to.Unix(), Backups: true, Protected: true, MaxReads: -1, MaxWrites: -1},
	}
	if diff := cmp.Diff(want, c.tables, cmp.AllowUnexported(table{})); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if n := c.reserved["mine-Stream"]; c.reserved["mine-Step"] != nil || n == nil || *n != 100 {
		t.Errorf("reserved concurrency: Step %s, Stream %s", reserved(c, "mine-Step"), reserved(c, "mine-Stream"))
	}
	if diff := cmp.Diff(map[string]string{"m1": "Enabled", "m2": "Disabled", "sweep": "ENABLED"}, map[string]string{"m1": c.mappings["m1"], "m2": c.mappings["m2"], "sweep": c.schedules["sweep"]}); diff != "" {
		t.Error(diff)
	}
	var left []string
	for _, m := range c.markers {
		left = append(left, m.Key)
	}
	if diff := cmp.Diff([]string{"b/erased:before", "f/new-and-erased"}, left); diff != "" {
		t.Errorf("objects that stay deleted (-want +got):\n%s", diff)
	}
}

func TestARestoreReplacesTheTables(t *testing.T) {
	c := deployed(t)
	r, did, said := restore(t, c, filepath.Join(t.TempDir(), "state", "restore.json"))
	if err := r.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.tables) != 2 || reserved(c, "mine-Step") != "none" {
		t.Error("the plan has changed something")
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored(t, c)
	const stopped = " threads-20261129T100000Z config-20261129T100000Z step:0 m1:Disabled sweep:DISABLED"
	if diff := cmp.Diff([]string{"switch" + stopped, "check" + stopped}, *did); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(r.File); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state is left: %v", err)
	}
	if diff := cmp.Diff([]string{"threads", "config"}, r.Old()); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"table threads becomes threads-20261129T100000Z; the old one stays", "bucket payloads: objects that were deleted after", "mine-Step is stopped", "4 objects",
		"waits for table threads-20261129T100000Z", "for 14m"} {
		if !strings.Contains(said.String(), text) {
			t.Errorf("it does not say %q:\n%s", text, said)
		}
	}
}

// TestAFailedRestoreContinues: each call fails once, in a restore of its own, which is then run
// again.
func TestAFailedRestoreContinues(t *testing.T) {
	whole := deployed(t)
	r, _, _ := restore(t, whole, filepath.Join(t.TempDir(), "f"))
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if whole.calls < 40 {
		t.Fatalf("%d calls", whole.calls)
	}
	for n := 1; n <= whole.calls; n++ {
		c := deployed(t)
		c.failAt = n
		file := filepath.Join(t.TempDir(), "f")
		r, _, _ := restore(t, c, file)
		err := r.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "run the same command again to continue") {
			t.Fatalf("call %d: %v", n, err)
		}
		again, did, _ := restore(t, c, file)
		if err := again.Run(t.Context()); err != nil {
			t.Fatalf("after call %d: %v", n, err)
		}
		restored(t, c)
		if len(*did) < 1 || !strings.HasPrefix((*did)[len(*did)-1], "check") {
			t.Errorf("after call %d: %v", n, *did)
		}
		if t.Failed() {
			t.Fatalf("call %d", n)
		}
	}
}

// TestAFailedSwitchOrCheckKeepsTheFunctionsStopped: nobody works on tables that are not checked.
func TestAFailedSwitchOrCheckKeepsTheFunctionsStopped(t *testing.T) {
	for _, what := range []string{"switch", "check"} {
		c := deployed(t)
		file := filepath.Join(t.TempDir(), "f")
		r, _, _ := restore(t, c, file)
		fails := func(context.Context, string, string) error { return errors.New("damaged") }
		if what == "switch" {
			r.Switch = fails
		} else {
			r.Check = fails
		}
		if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Fatalf("%s: %v", what, err)
		}
		if reserved(c, "mine-Step") != "0" || reserved(c, "mine-Stream") != "0" || c.mappings["m1"] != "Disabled" || c.schedules["sweep"] != "DISABLED" {
			t.Errorf("%s: functions run", what)
		}
		r, did, _ := restore(t, c, file)
		r.Threads, r.Config = "threads-20261129T100000Z", "config-20261129T100000Z" // as after a switch
		if err := r.Run(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		restored(t, c)
		if len(*did) != 1 {
			t.Errorf("%s: a stack that uses the tables is switched again: %v", what, *did)
		}
	}
}

func TestWhatCannotBeRestored(t *testing.T) {
	tests := []struct {
		name string
		with func(r *Restore, c *cloud)
		want string
	}{
		{"before the window", func(r *Restore, c *cloud) { c.earliest = to.Add(time.Second) }, "table threads cannot be restored to 2026-11-29T10:00:00Z: want a moment from 2026-11-29T10:00:01Z to 2026-11-29T11:00:00Z"},
		{"the first moment", func(r *Restore, c *cloud) { c.earliest = to }, ""},
		{"after the window", func(r *Restore, c *cloud) { c.latest = to.Add(-time.Second) }, "want a moment from 2026-11-29T09:00:00Z to 2026-11-29T09:59:59Z"},
		{"the last moment", func(r *Restore, c *cloud) { c.latest = to }, ""},
		{"no backups", func(r *Restore, c *cloud) { c.tables["config"].Backups = false }, "table config has no point-in-time recovery"},
		{"the same moment twice", func(r *Restore, c *cloud) { r.Threads = "threads-20261129T100000Z" }, "already uses table threads-20261129T100000Z"},
		{"a long name", func(r *Restore, c *cloud) { r.Threads = strings.Repeat("t", 239) }, "of 256 characters, and DynamoDB allows 255"},
		{"a table that is there", func(r *Restore, c *cloud) {
			c.tables["config-20261129T100000Z"] = &table{Source: "config", RestoreTo: to.Unix() + 1, MaxReads: -1}
		}, "table config-20261129T100000Z exists and is not a copy of config at 2026-11-29T10:00:00Z"},
		{"another table's copy", func(r *Restore, c *cloud) {
			c.tables["config-20261129T100000Z"] = &table{Source: "old-config", RestoreTo: to.Unix(), MaxReads: -1}
		}, "exists and is not a copy of config"},
		{"a table that is no copy", func(r *Restore, c *cloud) { c.tables["config-20261129T100000Z"] = &table{MaxReads: -1} }, "exists and is not a copy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := deployed(t)
			r, _, _ := restore(t, c, filepath.Join(t.TempDir(), "f"))
			tt.with(r, c)
			err := r.Plan(t.Context())
			if err == nil {
				err = r.Run(t.Context())
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestAnUnfinishedRestoreToAnotherMomentIsNamed(t *testing.T) {
	c := deployed(t)
	c.failAt = 20
	file := filepath.Join(t.TempDir(), "f")
	r, _, _ := restore(t, c, file)
	if err := r.Run(t.Context()); err == nil {
		t.Fatal("no error")
	}
	r, _, _ = restore(t, c, file)
	r.To = to.Add(time.Second)
	if err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "to 2026-11-29T10:00:00Z is unfinished: run it again with TO=2026-11-29T10:00:00Z") {
		t.Errorf("error %v", err)
	}
}

// TestABucketWithoutVersionsLosesObjects: the plan says so, and the restore goes on.
func TestABucketWithoutVersionsLosesObjects(t *testing.T) {
	c := deployed(t)
	c.unversioned = true
	r, _, said := restore(t, c, filepath.Join(t.TempDir(), "f"))
	if err := r.Plan(t.Context()); err != nil || !strings.Contains(said.String(), "bucket payloads keeps no versions") {
		t.Errorf("%v: %s", err, said)
	}
	if err := r.Run(t.Context()); err != nil || len(c.markers) != 7 {
		t.Errorf("%v, %d markers", err, len(c.markers))
	}
}

// TestAMappingThatTheDeploymentReplacedIsNoError: its id is unknown after the switch.
func TestAMappingThatTheDeploymentReplacedIsNoError(t *testing.T) {
	c := deployed(t)
	r, _, said := restore(t, c, filepath.Join(t.TempDir(), "f"))
	r.Check = func(context.Context, string, string) error {
		delete(c.mappings, "m1")
		return nil
	}
	if err := r.Run(t.Context()); err != nil || !strings.Contains(said.String(), "m1 does not exist any more") {
		t.Errorf("%v: %s", err, said)
	}
}

func TestNamesOfRestoredTables(t *testing.T) {
	for source, want := range map[string]string{
		"threads":                      "threads-20261129T100000Z",
		"prod-Threads-1A2B":            "prod-Threads-1A2B-20261129T100000Z",
		"threads-20260101T000000Z":     "threads-20261129T100000Z",
		"threads-20260101T000000Z-new": "threads-20260101T000000Z-new-20261129T100000Z",
	} {
		if got, err := target(source, to); got != want || err != nil {
			t.Errorf("%s becomes %s, %v, want %s", source, got, err, want)
		}
	}
}

func TestABucketIsDeletedWithAllVersions(t *testing.T) {
	c := deployed(t)
	if err := c.account(t).Purge(t.Context(), "payloads"); err != nil || !c.purged || len(c.versions)+len(c.markers) > 0 {
		t.Errorf("%v, deleted %v, %d versions, %d markers", err, c.purged, len(c.versions), len(c.markers))
	}
	c = deployed(t)
	c.failAt = 4
	if err := c.account(t).Purge(t.Context(), "payloads"); err == nil || c.purged {
		t.Errorf("%v, deleted %v", err, c.purged)
	}
}
