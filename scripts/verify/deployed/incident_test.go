//go:build aws

package deployed

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/alarms"
)

// The helpers of incidents_test.go: what an operator sees of a deployment in trouble. The
// alarms are those of the template, over the lines that the functions printed and over
// samples of AWS's own metrics, which a test makes of what the stand-ins counted. No stand-in
// has metrics, so that CloudWatch's own values were not seen.

// ownSample is a sample of a metric of AWS's own.
func ownSample(namespace, name string, at time.Time, value float64, dimensions ...string) alarms.Sample {
	of := map[string]string{}
	for i := 0; i+1 < len(dimensions); i += 2 {
		of[dimensions[i]] = dimensions[i+1]
	}
	return alarms.Sample{Namespace: namespace, Name: name, Dimensions: of, At: at, Value: value}
}

// checkAlarming compares the alarms at a time: on what the functions have printed, and on more
// samples. The sweep of each minute has taken place.
func (d *deployment) checkAlarming(t *testing.T, when string, at time.Time, more []alarms.Sample, want ...string) {
	t.Helper()
	samples, err := alarms.Samples(d.watched())
	if err != nil {
		t.Fatal(err)
	}
	samples = append(samples, more...)
	for minute := range 6 {
		samples = append(samples, ownSample("AWS/Lambda", "Invocations", at.Add(-time.Duration(minute)*time.Minute), 1, "FunctionName", d.name(t, "SweepFunction")))
	}
	all, err := alarms.Of(d.stack)
	if err != nil {
		t.Fatal(err)
	}
	got, err := alarms.Alarming(all, samples, at)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alarms %s (-want +got):\n%s\n%q", when, diff, alarms.Names(samples))
	}
}

// checkShown compares columns of the rows of an alarm's saved query, in any order.
func (d *deployment) checkShown(t *testing.T, alarm string, columns []string, want ...string) {
	t.Helper()
	var got []string
	for _, row := range d.shows(t, alarm) {
		var values []string
		for _, c := range columns {
			values = append(values, row[c])
		}
		got = append(got, strings.Join(values, " "))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the query of %s shows (-want +got):\n%s", alarm, diff)
	}
}

// doctor runs the command and returns the checks that are not ok, each as its status, name,
// count and remedy. variables are added to its environment.
func (d *deployment) doctor(t *testing.T, variables []string, args ...string) (lines []string) {
	t.Helper()
	command := d.doctorCommand(t, variables, append([]string{"-json"}, args...)...)
	out, err := command.Output() // its status is 1 if a check is a problem
	var report struct {
		Checks []struct {
			Check, Status, Remedy string
			Count                 int
		}
	}
	if failed := json.Unmarshal(out, &report); failed != nil || len(report.Checks) < 10 {
		t.Fatalf("the doctor printed %s, %v, %v", out, err, failed)
	}
	for _, c := range report.Checks {
		if c.Status != "ok" {
			lines = append(lines, c.Status+" "+c.Check+" "+strconv.Itoa(c.Count)+": "+c.Remedy)
		}
	}
	return lines
}

// doctorCommand is the command on the resources of the deployment.
func (d *deployment) doctorCommand(t *testing.T, variables []string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), build(t, "scripts/user/doctor", ""), args...)
	command.Stderr = io.Discard
	command.Env = append(os.Environ(),
		"REVEILLE_TABLE="+d.table, "REVEILLE_CONFIG_TABLE="+d.config, "REVEILLE_PAYLOAD_BUCKET="+d.name(t, "Payloads"),
		"REVEILLE_QUEUE_URL="+d.queueAddress(t, "Queue"), "REVEILLE_DEAD_LETTER_QUEUE_URL="+d.queueAddress(t, "DeadLetterQueue"),
	)
	command.Env = append(command.Env, variables...)
	return command
}

// checkDoctor compares the checks that are not ok.
func (d *deployment) checkDoctor(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the doctor, %s (-want +got):\n%s", when, diff)
	}
}

// outage is OpenAI's wire of a provider that can be down. Then it asks for pauses of two seconds:
// a stream waits so long within its step, and the circuit of a run in the background, which
// opens with the fifth failure, stays closed for eight seconds.
type outage struct {
	mu   sync.Mutex
	down bool
}

func (o *outage) set(down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = down
}

func (o *outage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// checkPatience waits until so many calls of a run have failed. The run must still wait for its
// provider then.
func (d *deployment) checkPatience(t *testing.T, id string, failed uint8) {
	t.Helper()
	h := d.head(t, id)
	for begin := time.Now(); h.Run.ModelFailed < failed && time.Since(begin) < time.Minute; time.Sleep(50 * time.Millisecond) {
		h = d.head(t, id)
	}
	if h.Run.ModelFailed < failed || h.FailingSince() == 0 || !h.Open() || h.Run.Attempts > 1 {
		t.Errorf("the run that no stream follows does not wait for the provider: %+v", h)
	}
}

// throttle refuses requests to DynamoDB, as a table or an index over its capacity does.
type throttle struct {
	mu      sync.Mutex
	refuses func(operation, index string) bool // nil: none
	counted map[string]int                     // refusals, by operation and index
}

func (r *throttle) set(refuses func(operation, index string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses = refuses
}

// counts returns the refusals so far.
func (r *throttle) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counted)
}

// ServeHTTP implements http.Handler: a DynamoDB that refuses, and responds to nothing else.
func (r *throttle) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil || !r.meets(w, q.Header.Get("X-Amz-Target"), body) {
		w.WriteHeader(http.StatusNotFound)
	}
}

// meets refuses a request, if it is to be refused.
func (r *throttle) meets(w http.ResponseWriter, target string, body []byte) (refused bool) {
	service, operation, _ := strings.Cut(target, ".")
	if r == nil || !strings.HasPrefix(service, "DynamoDB_") {
		return false
	}
	var request struct{ IndexName string }
	_ = json.Unmarshal(body, &request)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuses == nil || !r.refuses(operation, request.IndexName) {
		return false
	}
	if r.counted == nil {
		r.counted = map[string]int{}
	}
	r.counted[strings.TrimSpace(operation+" "+request.IndexName)]++
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded"}`)
	return true
}
