//go:build aws

package deployed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/scripts/lambdahost/host"
)

// announced is what a receiver reads of an announcement.
type announced struct {
	ID, Type string
	Data     struct {
		Tenant      string
		Thread      string `json:"thread_id"`
		Run         string `json:"run_id"`
		Agent       string `json:"agent_id"`
		Steps       int
		Termination struct{ Type, Code string }
		Tickets     []struct {
			Suspension string `json:"suspension_id"`
			Tool, Kind string
		}
		Missed int
	}
}

// String is the announcement without its own ids.
func (a announced) String() string {
	d := a.Data
	line := fmt.Sprintf("%s %s/%s %s run %s, %d steps, missed %d", a.Type, d.Tenant, d.Thread, d.Agent, d.Run, d.Steps, d.Missed)
	if d.Termination.Type != "" {
		line += ": " + d.Termination.Type + d.Termination.Code
	}
	for _, t := range d.Tickets {
		line += fmt.Sprintf(" [%s %s]", t.Tool, t.Kind)
	}
	return line
}

// receiverKey is the key that the functions and the receiver share.
var receiverKey = []byte("a key of at least 24 bytes")

// receiver is a web server that is told what happens to runs, and fails the first two
// tries of each end.
type receiver struct {
	mu    sync.Mutex
	tries []string // ids, of every request
	taken []announced
	wrong []error // with requests
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	id := request.Header.Get("Webhook-Id")
	r.tries = append(r.tries, id)
	var a announced
	err = errors.Join(err, verify(request.Header, body), json.Unmarshal(body, &a))
	if err == nil && (a.ID != id || request.Method != http.MethodPost || request.URL.String() != "/in?token=x") {
		err = fmt.Errorf("%s %s of %s has the id %s", request.Method, request.URL, id, a.ID)
	}
	if err != nil {
		r.wrong = append(r.wrong, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	tries := 0
	for _, other := range r.tries {
		if other == id {
			tries++
		}
	}
	if a.Type == "run.ended" && tries <= 2 {
		http.Error(w, "not now", http.StatusInternalServerError)
		return
	}
	r.taken = append(r.taken, a)
}

// verify checks a request as Standard Webhooks wants it of a receiver.
func verify(header http.Header, body []byte) error {
	at, err := strconv.ParseInt(header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil {
		return err
	}
	if age := time.Since(time.Unix(at, 0)); age.Abs() > 5*time.Minute {
		return fmt.Errorf("the request is %s old", age)
	}
	mac := hmac.New(sha256.New, receiverKey)
	fmt.Fprintf(mac, "%s.%d.%s", header.Get("Webhook-Id"), at, body)
	for signature := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		text, ok := strings.CutPrefix(signature, "v1,")
		sent, err := base64.StdEncoding.DecodeString(text)
		if ok && err == nil && hmac.Equal(sent, mac.Sum(nil)) {
			return nil
		}
	}
	return fmt.Errorf("no signature of %q is right", header.Get("Webhook-Signature"))
}

// got returns the tries and what was taken, and fails if a request was wrong.
func (r *receiver) got(t *testing.T) (tries []string, taken []announced) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := errors.Join(r.wrong...); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(r.tries), slices.Clone(r.taken)
}

// check fails unless the receiver has taken what is wanted, and nothing twice.
func (r *receiver) check(t *testing.T, when string, want ...string) {
	t.Helper()
	var lines []string
	_, taken := r.got(t)
	for _, a := range taken {
		lines = append(lines, a.String())
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatalf("%s the receiver has (-want +got):\n%s", when, diff)
	}
}

// stepUntil hands batches to the step function until something is so.
func (w *world) stepUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	p := host.Poller{Host: w.host, Queue: transport{w.queue}, Function: "step", Wait: time.Second}
	for range 30 {
		if _, err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if is() {
			return
		}
	}
	t.Fatalf("it did not come to it that %s", what)
}

// loseHints takes off the queue what is on it and what comes later.
func (w *world) loseHints(t *testing.T) {
	t.Helper()
	for range 20 {
		if visible, delayed := w.waiting(t); visible+delayed == "00" {
			return
		}
		messages, err := w.queue.Receive(t.Context(), 10, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if err := w.queue.Delete(t.Context(), []string{m.Receipt}); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Fatal("the queue does not become empty")
}

// neglect makes the announcement that stands in a head one that was put off so long ago,
// and nobody was woken for.
func (w *world) neglect(t *testing.T, id string, ago time.Duration) {
	t.Helper()
	w.loseHints(t)
	h := w.head(t, id)
	list := h.Notifies()
	if len(list) != 1 || list[0].Kind != thread.NotifyEnded {
		t.Fatalf("the head has %+v to tell, want one end", list)
	}
	w.lose(t, ago)
	put := thread.Notified{Child: list[0].Child, Kind: list[0].Kind, Version: list[0].Version, Retry: time.Now().Add(-ago).UnixMilli()}
	if _, result, err := w.box.Commit(t.Context(), key(id), h, put, nil); err != nil || result.Duplicate {
		t.Fatalf("result %+v, %v", result, err)
	}
}

// alarms delivers the sample alarm twice at once.
func (w *world) alarms(t *testing.T) {
	t.Helper()
	event := sampleEvent(t, "sns")
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if _, err := w.host.Invoke(t.Context(), "trigger", event); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

const alarm = "alarm-checkout-errors-0e9eef704e67512c" // thread of the sample alarm

// newTold is a deployment that tells a receiver what happens to runs. As in the template
// every function knows its address, and the step function alone the key.
func newTold(t *testing.T) (w *world, to *receiver, api string) {
	t.Helper()
	w, to = newWorld(t), &receiver{}
	server := httptest.NewServer(to)
	t.Cleanup(server.Close)
	address := "REVEILLE_WEBHOOK_URL=" + server.URL + "/in?token=x"
	secret := "REVEILLE_WEBHOOK_SECRET=whsec_" + base64.StdEncoding.EncodeToString(receiverKey)
	trigger := w.triggered(t)
	trigger.Env = append(trigger.Env, address)
	w.run(t, trigger,
		w.function("step", build(t, "scripts/deployed/step", "killpoints"), 30*time.Second, address, secret),
		w.function("api", build(t, "scripts/deployed/api", ""), 30*time.Second, address),
		w.function("sweep", build(t, "functions/sweep", ""), 30*time.Second, address))
	return w, to, w.front(t, host.Front{Function: "api", Shape: host.ShapeHTTP})
}

// An alarm that comes twice starts one run, which asks a person. Who was told of it
// approves through the API, and the run ends. The receiver fails the first two tries of
// its end: the second is made under the queue's hint, the third, whose hint is lost, under
// the sweep's. The alarm comes again at each stage, and changes nothing.
func TestAnAlarmsRunIsApprovedAndItsEndIsToldOnce(t *testing.T) {
	t.Parallel()
	w, to, api := newTold(t)
	w.alarms(t)
	h := w.head(t, alarm)
	if len(h.Pending) != 1 {
		t.Fatalf("after two deliveries the head is %+v, want one run", h)
	}
	run := h.Pending[0].Run.String()
	waits := "run.waiting public/" + alarm + " demo run " + run + ", 1 steps, missed 0 [danger person]"
	ended := "run.ended public/" + alarm + " demo run " + run + ", 2 steps, missed 0: natural_end"

	w.stepUntil(t, "a call waits", func() bool { return len(w.head(t, alarm).Tickets) == 1 })
	to.check(t, "while the run waits", waits)
	w.alarms(t)
	if h := w.head(t, alarm); h.Run.ID.String() != run || len(h.Tickets) != 1 || len(h.Pending)+len(h.Inbox) != 0 || h.Claim.Fence != 0 {
		t.Errorf("the same alarm changed the thread that waits: %+v", h)
	}

	w.approve(t, api, to)
	w.stepUntil(t, "the end was tried twice", func() bool { tries, _ := to.got(t); return len(tries) >= 3 })
	to.check(t, "after two tries of the end", waits)
	w.neglect(t, alarm, 4*time.Minute)
	if got := w.sweep(t); got != `{"woken":1}` {
		t.Errorf("the sweep returned %s", got)
	}
	w.stepUntil(t, "nothing is left to tell", func() bool { return w.head(t, alarm).Notify == nil })
	to.check(t, "after three tries of the end", waits, ended)

	w.alarms(t)
	if got := w.sweep(t); got != `{"woken":0}` {
		t.Errorf("when all is told the sweep returned %s", got)
	}
	w.loseHints(t)
	if _, err := w.host.Invoke(t.Context(), "step", eventFor(t, core.WakeUp{Tenant: tenant, Thread: alarm, Sweep: true})); err != nil {
		t.Fatal(err)
	}
	to.check(t, "at last", waits, ended)
	w.checkAlarm(t, api, run, to)
}

// approve decides as the receiver's first announcement says.
func (w *world) approve(t *testing.T, api string, to *receiver) {
	t.Helper()
	_, taken := to.got(t)
	asked := taken[0].Data
	response, err := http.Post(api+"/v1/runs/"+asked.Run+"/decision", "application/json",
		strings.NewReader(fmt.Sprintf(`{"suspension_id":%q,"action":"resume"}`, asked.Tickets[0].Suspension)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body := readAll(t, response.Body); response.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d: %s", response.StatusCode, body)
	}
}

// checkAlarm fails unless the run of the alarm is over, was the only one, and was told
// under two ids: that it waits in one try, its end in three.
func (w *world) checkAlarm(t *testing.T, api, run string, to *receiver) {
	t.Helper()
	said := []string{"user: approve: 5 errors in a minute", "assistant: ", `tool: {"text":"5 errors in a minute","executions":1}`, "assistant: Done: 5 errors in a minute"}
	if diff := cmp.Diff(said, w.messages(t, alarm)); diff != "" {
		t.Error(diff)
	}
	if h := w.head(t, alarm); h.Busy() || h.DueAt != 0 {
		t.Errorf("something is open, queued or due at the end: %+v", h)
	}
	response, err := http.Get(api + "/v1/runs/" + run)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var r core.Run
	if body := readAll(t, response.Body); json.Unmarshal([]byte(body), &r) != nil || r.Status != core.RunDone || r.Termination == nil || r.Termination.Type != core.TerminationNatural {
		t.Errorf("status %d: %s; want a run that is done", response.StatusCode, body)
	}
	tries, taken := to.got(t)
	waits, ended := taken[0].ID, taken[1].ID
	if diff := cmp.Diff([]string{waits, ended, ended, ended}, tries); diff != "" || waits == ended {
		t.Errorf("ids of the tries (-want +got):\n%s", diff)
	}
}
