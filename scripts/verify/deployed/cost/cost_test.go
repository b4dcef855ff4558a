package cost

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/aws/env/prices"
)

var update = flag.Bool("update", false, "rewrite infra/cost.md from infra/cost.json and the prices")

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func recorded(t *testing.T) Account {
	t.Helper()
	f, err := Parse([]byte(readFile(t, "infra/cost.json")))
	if err != nil {
		t.Fatal(err)
	}
	table, err := prices.Default()
	if err != nil {
		t.Fatal(err)
	}
	return Account{f, table}
}

// TestTheDocumentIsOfTheFigures compares infra/cost.md with the document that infra/cost.json
// and the prices give.
func TestTheDocumentIsOfTheFigures(t *testing.T) {
	if *update {
		if err := os.WriteFile("../../../../infra/cost.md", []byte(recorded(t).Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(readFile(t, "infra/cost.md"), recorded(t).Markdown()); diff != "" {
		t.Errorf("go test ./scripts/verify/deployed/cost -update writes another infra/cost.md (-there +written):\n%s", diff)
	}
}

// TestTheGuideHasTheSameFigures checks the figures that infra/README.md repeats.
func TestTheGuideHasTheSameFigures(t *testing.T) {
	a := recorded(t)
	text := readFile(t, "infra/README.md")
	sum, _ := total(a.Idle())
	for _, want := range []string{
		fmt.Sprintf("1,000 warm steps cost %.3f USD", a.Step().Sum()*1000),
		fmt.Sprintf("An idle stack costs %.2f USD a month", sum),
		fmt.Sprintf("%.2f USD of that are the polls", a.Idle()[0].USD),
		fmt.Sprintf("%.2f USD for 1,000 minutes", a.follower().Sum()*1000),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("infra/README.md does not have %q", want)
		}
	}
}

// TestTheCostOfSecondHints holds what second hints may cost, at the prices of AWS.
func TestTheCostOfSecondHints(t *testing.T) {
	a := recorded(t)
	if one, steps := a.second().Sum()*1000, a.secondOfStep().Sum()*1000; one > 0.0012 || steps > 0.0003 {
		t.Errorf("1,000 second hints cost %.5f USD, those of 1,000 steps %.5f, want 0.0012 and 0.0003 at most", one, steps)
	}
}

// account has round figures and prices, so that what they come to can be seen.
var account = Account{
	Figures: Figures{Day: "2026-01-02", MemoryMB: 512, Live: 2, Look: 3, Cold: Cold{Init: 100, Handler: 400}, Work: map[string]Work{
		Submission: {Write: 4, Read: 2, Queue: 1, Invocations: 1, Handler: 20},
		Calls:      {Write: 10, Read: 1, Queue: 3, Invocations: 1, Handler: 200, CPU: 36},
		Answer:     {Write: 6, Read: 3, Queue: 2, Invocations: 1, Handler: 400, CPU: 36},
		Chat:       {Write: 20, Read: 2, Queue: 1, Invocations: 1, Handler: 1000},
		Sweep:      {Read: 8, Queue: 1, Invocations: 1, Handler: 100},
		Wait:       {Write: 12, Read: 2, Queue: 3, Invocations: 1, Handler: 200},
		Early:      {Read: 1, Queue: 2, Invocations: 1, Handler: 100},
		Wake:       {Write: 4, Read: 6, Queue: 3, Invocations: 1, Handler: 400},
		Delegate:   {Write: 20, Read: 5, Queue: 3, Invocations: 1, Handler: 200},
		Child:      {Write: 16, Read: 8, Queue: 3, Invocations: 1, Handler: 400},
		ChildEnd:   {Write: 3, Read: 6, Queue: 3, Invocations: 1, Handler: 200},
	}},
	Prices: round(),
}

func round() prices.Table {
	t := prices.Table{Region: "r", AsOf: "2026-01-01", Source: "s"}
	m := &t.Million
	m.WriteUnits, m.ReadUnits, m.QueueRequests, m.GBSeconds = 1, 10, 100, 1000
	m.Invocations, m.HTTPRequests, m.RESTRequests, m.Schedules = 10_000, 100_000, 1, 1
	t.GB.Logs = 2
	return t
}

func TestBills(t *testing.T) {
	marked := account
	marked.Mark = 0.25
	tests := []struct {
		name string
		got  Bill
		want Bill // for 1,000
	}{
		{"step", account.Step(), Bill{Table: 0.028, Queue: 0.25, Requests: 10, Duration: 3.4}},
		{"cold step", account.cold(), Bill{Table: 0.02, Queue: 0.3, Requests: 10, Duration: 3.75}},
		{"submission", account.submission(), Bill{Table: 0.024, Queue: 0.1, Requests: 10, Duration: 0.01, Door: 100}},
		{"chat", account.chat(), Bill{Table: 0.04, Queue: 0.1, Requests: 10, Duration: 7}},
		{"chat that is followed", account.heard(), Bill{Table: 0.065, Queue: 0.1, Requests: 10, Duration: 7}},
		{"step with looks for a mark", marked.Step(), Bill{Table: 0.043, Queue: 0.25, Requests: 10, Duration: 3.4}},
		{"chat with looks for a mark", marked.chat(), Bill{Table: 0.07, Queue: 0.1, Requests: 10, Duration: 7}},
		{"second hint", account.second(), Bill{Table: 0.01, Queue: 0.2, Requests: 10, Duration: 0.05}},
		{"second hints of a step", account.secondOfStep(), Bill{Table: 0.0025, Queue: 0.05, Requests: 2.5, Duration: 0.0125}},
		{"a chat's second hint", account.watched(), Bill{Table: 0.01, Queue: 0.3, Requests: 10, Duration: 0.05}},
		{"step that waits for a time, with looks for a mark", marked.one(Wait, ModelSeconds), Bill{Table: 0.047, Queue: 0.3, Requests: 10, Duration: 3.1}},
		{"step that wakes a call, which calls no model", marked.one(Wake, 0), Bill{Table: 0.064, Queue: 0.3, Requests: 10, Duration: 0.2}},
		{"wake-ups of the sweep in a wait", account.sweptTwice(), Bill{Table: 0.026, Queue: 0.7, Requests: 20, Duration: 0.1}},
		{"step that starts a child run, with looks for a mark", marked.one(Delegate, ModelSeconds), Bill{Table: 0.085, Queue: 0.3, Requests: 10, Duration: 3.1}},
		{"child run, with looks for a mark", marked.one(Child, ModelSeconds), Bill{Table: 0.111, Queue: 0.3, Requests: 10, Duration: 3.2}},
		{"step with the end of a child run, which calls no model", marked.one(ChildEnd, 0), Bill{Table: 0.063, Queue: 0.3, Requests: 10, Duration: 0.1}},
		{"delegated call", account.delegated(), Bill{Table: 0.229, Queue: 0.9, Requests: 30, Duration: 6.4}},
		{"end of a run with an open child", account.openChild(), Bill{Table: 0.144, Queue: 0.3, Requests: 10, Duration: 0.1}},
		{"message", account.message(), Bill{Table: 0.089, Queue: 0.1}},
		{"minute of a follower", account.follower(), Bill{Table: 1.8, Requests: 10, Duration: 30}},
		{"minute of one that hears a model", account.hearing(), Bill{Table: 2.4 + 0.004/3, Requests: 10, Duration: 30}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.got.times(1000), cmp.Comparer(near)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestTheIdleStack(t *testing.T) {
	want := []Line{
		{"SQS: polls of the Step function's event source mapping", 657_000, 65.7, 956_200},
		{"SQS: requests of sweeps to the dead-letter queue", 43_800, 4.38, 343_000},
		{"DynamoDB: read units of sweeps", 350_400, 3.504, 0},
		{"EventBridge Scheduler: the schedule of sweeps", 43_800, 0.0438, 14_000_000},
		{"Lambda: requests of sweeps", 43_800, 438, 1_000_000},
		{"Lambda: GB-seconds of sweeps", 2190, 2.19, 400_000},
		{"CloudWatch: GB of logs of sweeps", 0.0438, 0.0876, 5},
	}
	if diff := cmp.Diff(want, account.Idle(), cmp.Comparer(near)); diff != "" {
		t.Error(diff)
	}
	if sum, beyond := total(account.Idle()); !near(sum, 513.9054) || !near(beyond, 3.504) {
		t.Errorf("the sum is %v, beyond what is free %v", sum, beyond)
	}
	for _, tt := range []struct {
		line Line
		want float64
	}{
		{Line{Count: 10, USD: 5, Free: 10}, 0}, {Line{Count: 10, USD: 5, Free: 4}, 3}, {Line{Count: 10, USD: 5}, 5}, {Line{}, 0},
	} {
		if got := tt.line.Beyond(); !near(got, tt.want) {
			t.Errorf("%+v costs %v beyond what is free, want %v", tt.line, got, tt.want)
		}
	}
}

func TestAlternatives(t *testing.T) {
	// A step of 6.5 s and 36 ms of processor in half a GB; its own bill is 13.678 USD per
	// 1,000, of which 3.4 is duration, 10 requests and 0.028 the table.
	want := map[string]float64{
		"Reveille, with functions of four times the memory":                         23.878,
		"a table with a transactional outbox":                                       13.692,
		"Lambda durable functions (not for Go)":                                     13.4255,
		"Step Functions, standard":                                                  13.525,
		"AgentCore Runtime":                                                         0.009426,
		"AgentCore Runtime and Memory":                                              0.759426,
		"Fargate, two tasks of 0.25 vCPU and 0.5 GB (arm64) behind a load balancer": 30.8425,
	}
	for _, o := range account.Alternatives() {
		if math.Abs(o.USD-want[o.Name]) > 1e-5 {
			t.Errorf("%s costs %v, want %v", o.Name, o.USD, want[o.Name])
		}
		delete(want, o.Name)
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}

func TestFiguresThatAreRefused(t *testing.T) {
	good := readFile(t, "infra/cost.json")
	for _, tt := range []struct{ name, old, new, want string }{
		{"an unknown key", `"cpu_ms"`, `"cpu"`, `unknown field "cpu"`},
		{"no day", `"day": "`, `"day": "x`, "is not a date, want YYYY-MM-DD"},
		{"work that is missing", `"sweep"`, `"swept"`, `work "sweep" is missing`},
		{"no JSON", `{`, `[`, "figures: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse([]byte(strings.Replace(good, tt.old, tt.new, 1))); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestColdReadsAreNeeded(t *testing.T) {
	f := recorded(t).Figures
	f.Reads = nil
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(text); err == nil || err.Error() != "figures: cold_reads are missing" {
		t.Errorf("%v, want that cold_reads are missing", err)
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0.0000", 0.00994: "0.0099", 0.12345: "0.1235", 1: "1.00", 30.8425: "30.84"} {
		if got := usd(x); got != want {
			t.Errorf("usd(%v) is %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.5: "0.5", 5.417: "5.42", 25: "25", 0.1447: "0.1447", 100: "100"} {
		if got := number(x); got != want {
			t.Errorf("number(%v) is %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 5: "5", 999: "999", 1000: "1,000", 657000: "657,000", 14e6: "14,000,000", 0.0438: "0.0438"} {
		if got := count(x); got != want {
			t.Errorf("count(%v) is %s, want %s", x, got, want)
		}
	}
}
