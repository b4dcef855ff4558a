package emf_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/outbound/emf"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

var (
	key = core.ThreadKey{Tenant: "acme", Thread: "t1"}
	id  = core.ID{0x01, 0x9a, 15: 0x07}
)

const (
	runID = "019a0000-0000-0000-0000-000000000007"
	runs  = `{"Namespace":"Reveille","Dimensions":[["Stack"],["Stack","Outcome"]],"Metrics":[{"Name":"Runs","Unit":"Count"}]}`
	of    = `"tenant":"acme","agent":"clerk","thread":"t1","run":"` + runID + `"`
)

// total is the definition of a metric under Stack alone.
func total(name, unit string) string {
	return `{"Namespace":"Reveille","Dimensions":[["Stack"]],"Metrics":[{"Name":"` + name + `","Unit":"` + unit + `"}]}`
}

// written returns the line that something writes, without what all lines begin with.
func written(t *testing.T, write func(*emf.Writer)) string {
	t.Helper()
	var log strings.Builder
	write(emf.New(&log, emf.Options{Stack: "arn:aws:cloudformation:eu-west-1:111122223333:stack/prod/0f1e", Function: "step", Now: func() time.Time { return time.UnixMilli(5000) }}))
	rest, ok := strings.CutPrefix(log.String(), `{"_aws":{"Timestamp":5000,"CloudWatchMetrics":[`)
	if !ok && log.Len() > 0 {
		t.Fatalf("no line of metrics: %s", log.String())
	}
	return rest
}

func TestEndsOfRuns(t *testing.T) {
	run := core.Run{ID: id, AgentID: "clerk", Status: core.RunDone, Steps: 3, StartedAt: 1000, FinishedAt: 4500}
	for _, tt := range []struct {
		name   string
		status core.RunStatus
		end    *core.Termination
		want   string
	}{
		{"a wait is no end", core.RunWaiting, nil,
			`{"Namespace":"Reveille","Dimensions":[["Stack","Outcome"]],"Metrics":[{"Name":"Runs","Unit":"Count"}]}]},"Stack":"prod","Function":"step","Outcome":"waiting","Runs":1,` + of + `,"steps":3}`},
		{"a natural end has not failed", core.RunDone, &core.Termination{Type: core.TerminationNatural},
			runs + "," + total("Failed", "Count") + `]},"Stack":"prod","Function":"step","Outcome":"natural_end","Runs":1,"Failed":0,` + of + `,"steps":3,"ms":3500}`},
		{"a stop policy's code is a field", core.RunDone, &core.Termination{Type: core.TerminationStopped, Code: "max_rounds"},
			runs + "," + total("Failed", "Count") + `]},"Stack":"prod","Function":"step","Outcome":"stopped","Runs":1,"Failed":0,` + of + `,"reason":"max_rounds","steps":3,"ms":3500}`},
		{"an error", core.RunDone, &core.Termination{Type: core.TerminationError, Code: "model", Detail: "secret"},
			runs + `,{"Namespace":"Reveille","Dimensions":[["Stack"],["Stack","Code"],["Stack","Function"]],"Metrics":[{"Name":"Failed","Unit":"Count"}]}]},` +
				`"Stack":"prod","Function":"step","Outcome":"error","Code":"model","Runs":1,"Failed":1,` + of + `,"reason":"model","steps":3,"ms":3500}`},
		{"an error of a code without a value", core.RunDone, &core.Termination{Type: core.TerminationError, Code: "too_many_calls"},
			runs + `,{"Namespace":"Reveille","Dimensions":[["Stack"],["Stack","Code"],["Stack","Function"]],"Metrics":[{"Name":"Failed","Unit":"Count"}]}]},` +
				`"Stack":"prod","Function":"step","Outcome":"error","Code":"other","Runs":1,"Failed":1,` + of + `,"reason":"too_many_calls","steps":3,"ms":3500}`},
		{"a dead letter", core.RunDone, &core.Termination{Type: core.TerminationError, Code: "dead_letter"},
			runs + `,{"Namespace":"Reveille","Dimensions":[["Stack"],["Stack","Code"],["Stack","Function"]],"Metrics":[{"Name":"Failed","Unit":"Count"}]},` +
				`{"Namespace":"Reveille","Dimensions":[["Stack"],["Stack","Kind"]],"Metrics":[{"Name":"DeadLetters","Unit":"Count"}]}]},` +
				`"Stack":"prod","Function":"step","Outcome":"error","Code":"dead_letter","Kind":"run","Runs":1,"Failed":1,"DeadLetters":1,` + of + `,"reason":"dead_letter","steps":3,"ms":3500}`},
		{"a decision that expired has not failed", core.RunDone, &core.Termination{Type: core.TerminationError, Code: "expired"},
			runs + "," + total("Failed", "Count") + "," + total("Expired", "Count") + `]},"Stack":"prod","Function":"step","Outcome":"error","Runs":1,"Failed":0,"Expired":1,` + of + `,"reason":"expired","steps":3,"ms":3500}`},
		{"an end of another build", core.RunDone, &core.Termination{Type: "dissolved"},
			runs + "," + total("Failed", "Count") + `]},"Stack":"prod","Function":"step","Outcome":"other","Runs":1,"Failed":0,` + of + `,"steps":3,"ms":3500}`},
		{"an end whose record is lost", core.RunDone, nil,
			runs + "," + total("Failed", "Count") + `]},"Stack":"prod","Function":"step","Outcome":"other","Runs":1,"Failed":0,` + of + `,"steps":3,"ms":3500}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run
			r.Status, r.Termination = tt.status, tt.end
			if diff := cmp.Diff(tt.want+"\n", written(t, func(w *emf.Writer) { w.Ended(key, r) })); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinesThatAreNoEnds(t *testing.T) {
	errors := func(kind string) func(*emf.Writer) {
		return func(w *emf.Writer) { w.ModelErrors(key, id, "clerk", "openai", "gpt-x", kind, 2) }
	}
	const kinds = `{"Namespace":"Reveille","Dimensions":[["Stack"],["Stack","Kind"]],"Metrics":[{"Name":"ModelErrors","Unit":"Count"}]}]},"Stack":"prod","Function":"step",`
	const kind = `{"Namespace":"Reveille","Dimensions":[["Stack","Kind"]],"Metrics":[{"Name":"ModelErrors","Unit":"Count"}]}]},"Stack":"prod","Function":"step",`
	for _, tt := range []struct {
		name  string
		write func(*emf.Writer)
		want  string
	}{
		{"a minute is not late", func(w *emf.Writer) { w.Late(key, id, "clerk", time.Minute) }, ""},
		{"more is", func(w *emf.Writer) { w.Late(key, id, "clerk", time.Minute+time.Millisecond) },
			total("LateWakeUps", "Count") + "," + total("Lateness", "Milliseconds") + `]},"Stack":"prod","Function":"step","LateWakeUps":1,"Lateness":60001,` + of + "}\n"},
		{"a provider that limits", errors("rate_limited"), kinds + `"Kind":"rate_limited","ModelErrors":2,` + of + `,"provider":"openai","model":"gpt-x","reason":"rate_limited"}` + "\n"},
		{"a kind without a value", errors("haunted"), kinds + `"Kind":"other","ModelErrors":2,` + of + `,"provider":"openai","model":"gpt-x","reason":"haunted"}` + "\n"},
		{"a request that is too long is not the provider's error", errors("context_overflow"), kind + `"Kind":"context_overflow","ModelErrors":2,` + of + `,"provider":"openai","model":"gpt-x","reason":"context_overflow"}` + "\n"},
		{"a filtered response neither", errors("content_filtered"), kind + `"Kind":"content_filtered","ModelErrors":2,` + of + `,"provider":"openai","model":"gpt-x","reason":"content_filtered"}` + "\n"},
		{"a dead wake-up", func(w *emf.Writer) { w.DeadWakeUp(core.WakeUp{Tenant: "acme", Thread: "t1"}, false) },
			`{"Namespace":"Reveille","Dimensions":[["Stack"],["Stack","Kind"]],"Metrics":[{"Name":"DeadLetters","Unit":"Count"}]}]},` +
				`"Stack":"prod","Function":"step","Kind":"wake_up","DeadLetters":1,"tenant":"acme","thread":"t1","woken":false}` + "\n"},
		{"a damaged thread", func(w *emf.Writer) { w.Quarantined(core.ThreadKey{Tenant: "acme", Thread: "t1"}) },
			`{"Namespace":"Reveille","Dimensions":[["Stack"],["Stack","Kind"]],"Metrics":[{"Name":"DeadLetters","Unit":"Count"}]}]},` +
				`"Stack":"prod","Function":"step","Kind":"thread","DeadLetters":1,"tenant":"acme","thread":"t1"}` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, written(t, tt.write)); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	one := core.ModelUse{Provider: "openai", Model: "gpt-x", Usage: core.Usage{Input: 300, Output: 30, CacheRead: 40}, Inferences: 2}
	two := core.ModelUse{Provider: "own", Model: "m", Usage: core.Usage{Input: 5, Output: 7}, Inferences: 1}
	price := func(provider, _ string, _ core.Usage, at time.Time) (core.USD, bool) {
		return 150_000, provider == "openai" && at.UnixMilli() == 2000
	}
	const head = `{"msg":"usage","Stack":"reveille","tenant":"acme","agent":"clerk","run":"` + runID + `",`
	for _, tt := range []struct {
		name   string
		record account.Record
		want   string
	}{
		{"a run that waits", account.Record{User: "secret", Agent: "clerk", Run: id, Since: 2000, Until: 5000, End: "waiting", Tools: 4, Models: []core.ModelUse{one}},
			head + `"outcome":"waiting","provider":"openai","model":"gpt-x","calls":2,"tokens_in":300,"tokens_out":30,"tokens_cached":40,"usd":0.00015,"runs":0,"failed":0,"tools":4,"ms":3000}` + "\n"},
		{"one that fails, with two models", account.Record{Agent: "clerk", Run: id, Since: 2000, Until: 5000, End: "error", Tools: 4, Models: []core.ModelUse{one, two}},
			head + `"outcome":"error","provider":"openai","model":"gpt-x","calls":2,"tokens_in":300,"tokens_out":30,"tokens_cached":40,"usd":0.00015,"runs":1,"failed":1,"tools":4,"ms":3000}` + "\n" +
				head + `"outcome":"error","provider":"own","model":"m","calls":1,"tokens_in":5,"tokens_out":7,"tokens_cached":0,"usd":null,"runs":0,"failed":0,"tools":0,"ms":0}` + "\n"},
		{"one without a model, on a clock that went back", account.Record{Agent: "clerk", Run: id, Since: 5000, Until: 2000, End: "cancelled"},
			head + `"outcome":"cancelled","model":"none","calls":0,"tokens_in":0,"tokens_out":0,"tokens_cached":0,"usd":0,"runs":1,"failed":0,"tools":0,"ms":0}` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			emf.New(&log, emf.Options{Price: price}).Used("acme", tt.record)
			if diff := cmp.Diff(tt.want, log.String()); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheNumberOfMetricsIsBounded: this is what an operator can pay for, at most.
func TestTheNumberOfMetricsIsBounded(t *testing.T) {
	n := 0
	for _, m := range emf.Metrics() {
		n += m.Count()
	}
	if n != 46 {
		t.Errorf("%d metrics, want 46: the cost model and the documents follow", n)
	}
}
