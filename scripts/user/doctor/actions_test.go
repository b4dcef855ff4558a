package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// damagedFile is a file with a head of an intact thread t1, and one of t2 that no program
// decodes: a delayed dispatch without a time does not exist.
func damagedFile(t *testing.T) string {
	t.Helper()
	damaged := store.Head{DueAt: 1}
	if err := json.Unmarshal([]byte(`[{}]`), &damaged.Delayed); err != nil {
		t.Fatal(err)
	}
	return file(t, map[string]store.Head{"t1": {}, "t2": damaged})
}

// typed runs the command for a user who types an answer.
func typed(t *testing.T, answer string, args ...string) (ok bool, text string) {
	t.Helper()
	var out strings.Builder
	c := command{in: strings.NewReader(answer), out: &out, failures: &out}
	ok = c.run(t.Context(), args)
	return ok, out.String()
}

func TestADamagedThreadOfAFile(t *testing.T) {
	path := damagedFile(t)
	steps := []struct {
		name, answer string
		args         string
		ok           bool
		want         string
		lines        []string // after it
	}{
		{"not yet", "no\n", "quarantine t2", false, "doctor: nothing was changed\n", []string{"problem damaged 1"}},
		{"quarantine", "yes\n", "quarantine t2", true, "Type yes to continue: local/t2 is quarantined\n", []string{"problem quarantined 1"}},
		{"again", "", "-yes quarantine local/t2", true, "local/t2 is quarantined\n", []string{"problem quarantined 1"}},
		{"release of what is damaged", "", "-yes release t2", false, "thread head of", []string{"problem quarantined 1"}},
		{"delete of what is intact", "", "-yes delete t1", false, "the head of local/t1 can be read: only damaged ones are quarantined or replaced", []string{"problem quarantined 1"}},
		{"delete of nothing", "", "-yes delete t3", false, "thread local/t3 does not exist", []string{"problem quarantined 1"}},
		{"no queue", "", "-yes replay-events", false, "has no queue of parked events", []string{"problem quarantined 1"}},
		{"delete", "yes", "delete t2", true, "local/t2 is deleted; workers erase its records\n", nil},
	}
	for _, step := range steps {
		ok, text := typed(t, step.answer, append([]string{"-data", path}, strings.Fields(step.args)...)...)
		if ok != step.ok || !strings.Contains(text, step.want) {
			t.Errorf("%s: ok %v, it prints %q, want %q", step.name, ok, text, step.want)
		}
		_, out, _ := printed(t, nil, "-data", path)
		if diff := cmp.Diff(step.lines, named(out)); diff != "" {
			t.Errorf("after %s: %s", step.name, diff)
		}
	}
	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if h, err := s.Head(t.Context(), core.ThreadKey{Tenant: "local", Thread: "t2"}); err != nil || !h.Deleted {
		t.Errorf("the head is %+v, %v; want a tombstone", h, err)
	}
}

func TestTheStackOfAnEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	config := "version = 0.1\n[default.deploy.parameters]\nstack_name = \"mine\"\n[prod.global.parameters]\nregion = \"eu-north-1\"\n" +
		"[prod.deploy.parameters]\nstack_name = \"mine-prod\"\nprofile = \"work\"\nconfirm_changeset = true\n[half.deploy.parameters]\nregion = \"x\"\n"
	if err := os.WriteFile(samconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for environment, want := range map[string]string{
		"default": "mine   <nil>",
		"prod":    "mine-prod eu-north-1 work <nil>",
		"half":    ` x  samconfig.toml names no stack of the environment "half": want a setting stack_name in [half.deploy.parameters]`,
		"test":    `   samconfig.toml names no stack of the environment "test": want a setting stack_name in [test.deploy.parameters]`,
	} {
		p := place{environment: environment}
		err := p.ofEnvironment()
		if got := fmt.Sprint(p.stack, " ", p.region, " ", p.profile, " ", err); got != want {
			t.Errorf("%s: %s, want %s", environment, got, want)
		}
	}
}

func TestTheEventInAParkedMessage(t *testing.T) {
	tests := []struct{ name, body, want, failure string }{
		{"of Lambda", `{"version":"1.0","requestContext":{"condition":"RetriesExhausted"},"requestPayload":{"id":"e1"},"responsePayload":{"errorMessage":"x"}}`, `{"id":"e1"}`, ""},
		{"of a schedule", `{"trigger":"weekly"}`, `{"trigger":"weekly"}`, ""},
		{"of a stream", `{"DDBStreamBatchInfo":{"shardId":"s"}}`, "", "it names records of a DynamoDB stream and does not contain them: read the stream"},
		{"of no JSON", `x`, "", "it is not a JSON object: "},
	}
	for _, tt := range tests {
		got, err := parkedEvent(tt.body)
		if string(got) != tt.want || (err == nil) != (tt.failure == "") || err != nil && !strings.HasPrefix(err.Error(), tt.failure) {
			t.Errorf("%s: %s, %v; want %s, %s", tt.name, got, err, tt.want, tt.failure)
		}
	}
}

func TestTheResultOfAnInvocation(t *testing.T) {
	tests := []struct {
		status        int
		failure, text string
		want          string
	}{
		{200, "", "null", "<nil>"},
		{202, "", "", "<nil>"},
		{200, "", `{"batchItemFailures":[]}`, "<nil>"},
		{200, "", `{"batchItemFailures":[{"itemIdentifier":"m1"}]}`, "function Trigger could not handle 1 items of the batch"},
		{200, "Unhandled", `{"errorMessage":"x"}`, `function Trigger failed (Unhandled): {"errorMessage":"x"}`},
		{403, "", "no", "invoke Trigger: status 403: no"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(accepted(tt.status, tt.failure, []byte(tt.text))); got != tt.want {
			t.Errorf("%d %s %s: %s, want %s", tt.status, tt.failure, tt.text, got, tt.want)
		}
	}
}
