//go:build aws

package deployed

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/aws/env/prices"
	"github.com/reveille-run/reveille/core/plugins/timer"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/scripts/verify/deployed/cost"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

var (
	writeCost = flag.Bool("cost.write", false, "write what TestCost measures to infra/cost.json and infra/cost.md")
	printCost = flag.String("cost.print", "", "the file to which TestCost writes its tables")
)

// talker is a provider of the OpenAI protocol that says 520 B, with calls if it was a person who
// spoke last: two of the tool echo of 1 KB, one of wait_until, or one of an agent with a prompt of
// 500 B. It calls nothing for an agent without tools.
type talker struct {
	mu   sync.Mutex
	slow bool // says it in 100 pieces, one each 100 ms
}

const (
	slowSeconds  = 10
	sleepSeconds = 3 // of a call of wait_until
	// said is the size of a response: its record has a little more than 1 KB, and costs two
	// units, whatever its ids and times compress to.
	said = 520
)

func (p *talker) slowly(slow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = slow
}

func (p *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	slow := p.slow
	p.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(format string, arguments ...any) {
		fmt.Fprintf(w, "data: "+format+"\n\n", arguments...)
		_ = http.NewResponseController(w).Flush()
	}
	pieces := 1
	if slow {
		pieces = 10 * slowSeconds
	}
	for range pieces {
		say(`{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":null}]}`, noise(said/pieces))
		if slow {
			time.Sleep(100 * time.Millisecond)
		}
	}
	finish := "stop"
	if request.Messages[len(request.Messages)-1].Role == "user" && len(request.Tools) > 0 {
		finish = "tool_calls"
		call := func(i int, name, arguments string) {
			quoted, _ := json.Marshal(arguments) // a string
			say(`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"call_%d_%d","type":"function","function":{"name":%q,"arguments":%s}}]},"finish_reason":null}]}`, i, rand.Uint64(), i, name, quoted)
		}
		switch name := request.Tools[0].Function.Name; name {
		case timer.Tool:
			call(0, name, fmt.Sprintf(`{"seconds":%d}`, sleepSeconds))
		case delegateTool:
			call(0, name, fmt.Sprintf(`{"prompt":%q}`, noise(500)))
		default:
			call(0, "echo", fmt.Sprintf(`{"text":%q}`, noise(1000)))
			call(1, "echo", fmt.Sprintf(`{"text":%q}`, noise(1000)))
		}
	}
	say(`{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, finish)
	say(`{"id":"c1","choices":[],"usage":{"prompt_tokens":500,"completion_tokens":100,"total_tokens":600}}`)
	say(`[DONE]`)
}

// noise is a text that has n bytes when it is compressed.
func noise(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.IntN(256))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// bookkeeper measures a deployment.
type bookkeeper struct {
	*deployment
	provider *talker
	poller   host.Poller
	queue    *countedQueue

	mu      sync.Mutex
	reports []host.Report
}

// countedQueue counts what a mapping asks of a queue that has messages.
type countedQueue struct {
	host.Queue
	requests int
	next     []host.Message // which the next Receive returns
}

// Receive returns no second hints, which come a minute after they were sent: they are counted
// by package cost.
func (q *countedQueue) Receive(ctx context.Context, most int, wait time.Duration) ([]host.Message, error) {
	if next := q.next; next != nil {
		q.requests++
		q.next = nil
		return next, nil
	}
	messages, err := q.Queue.Receive(ctx, most, wait)
	messages = slices.DeleteFunc(messages, func(m host.Message) bool {
		sent, failed := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64)
		second := failed == nil && time.Since(time.UnixMilli(sent)) > 45*time.Second
		if second {
			err = errors.Join(err, q.Queue.Delete(ctx, []string{m.Receipt}))
		}
		return second
	})
	if len(messages) > 0 {
		q.requests++
	}
	return messages, err
}

func (q *countedQueue) Delete(ctx context.Context, receipts []string) error {
	q.requests++
	if slices.Equal(receipts, []string{ownReceipt}) {
		return nil
	}
	return q.Queue.Delete(ctx, receipts)
}

// measure returns what do costs, whose invocations are of one function.
func (k *bookkeeper) measure(t *testing.T, do func()) cost.Work {
	t.Helper()
	k.meter.Reset()
	sent := k.asked()
	k.queue.requests = 0
	k.mu.Lock()
	k.reports = nil
	k.mu.Unlock()
	do()
	k.mu.Lock()
	defer k.mu.Unlock()
	units := k.meter.Total()
	units.Write -= k.meter.Units()["event"].Write // that is by the second: see streamed
	w := cost.Work{Write: units.Write, Read: units.Read, Queue: k.asked() - sent + k.queue.requests, Invocations: len(k.reports)}
	for _, r := range k.reports {
		w.Handler += milliseconds(r.Duration)
		w.CPU += milliseconds(r.CPU)
	}
	return w
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// asked is how many requests the functions have sent to queues.
func (k *bookkeeper) asked() (n int) {
	for _, r := range k.calls {
		n += r.number("sqs:")
	}
	return n
}

// median takes each figure for itself, times with one place after the point.
func median(all []cost.Work) cost.Work {
	of := func(f func(cost.Work) float64) float64 {
		var values []float64
		for _, w := range all {
			values = append(values, f(w))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	round := func(x float64) float64 { return float64(int(x*10+0.5)) / 10 }
	return cost.Work{
		Write: of(func(w cost.Work) float64 { return w.Write }), Read: of(func(w cost.Work) float64 { return w.Read }),
		Queue:       int(of(func(w cost.Work) float64 { return float64(w.Queue) })),
		Invocations: int(of(func(w cost.Work) float64 { return float64(w.Invocations) })),
		Handler:     round(of(func(w cost.Work) float64 { return w.Handler })), CPU: round(of(func(w cost.Work) float64 { return w.CPU })),
	}
}

// newBookkeeper deploys the template, with a provider.
func newBookkeeper(t *testing.T) *bookkeeper {
	k := &bookkeeper{provider: &talker{}}
	server := httptest.NewServer(k.provider)
	t.Cleanup(server.Close)
	mains := maps.Clone(folders)
	mains["StepFunction"], mains["StreamFunction"] = "scripts/verify/deployed/wire/step", "scripts/verify/deployed/wire/stream"
	k.deployment = deployWith(t, map[string]string{"Auth": "none", "LogLevel": "error", "Model": "openai/gpt-5-mini", "ModelBaseUrl": server.URL, "EgressAllow": "127.0.0.1"}, deployOptions{
		folders:   mains,
		sandboxes: 1, // what is measured as warm is not to start another
		report: func(r host.Report) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.reports = append(k.reports, r)
		},
	})
	if len(k.pollers) != 1 {
		t.Fatalf("%d mappings, want Step's alone", len(k.pollers))
	}
	k.poller = k.pollers[0]
	k.queue = &countedQueue{Queue: k.poller.Queue}
	k.poller.Queue = k.queue
	return k
}

// poll hands one batch to Step.
func (k *bookkeeper) poll(t *testing.T) {
	t.Helper()
	for range 10 {
		if done, err := k.poller.Poll(t.Context()); err != nil || done > 0 {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no wake-up came")
}

// say submits 500 B to a thread.
func (k *bookkeeper) say(t *testing.T, door, thread string) (run string) {
	t.Helper()
	return k.sayTo(t, demo.ID, door, thread)
}

// sayTo submits 500 B to a thread, for an agent.
func (k *bookkeeper) sayTo(t *testing.T, agent, door, thread string) (run string) {
	t.Helper()
	status, body := send(t, "POST", door+"/v1/threads/"+thread+"/messages", fmt.Sprintf(`{"agent_id":%q,"messages":[{"role":"user","content":%q}]}`, agent, noise(500)))
	var receipt struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(body), &receipt); err != nil || status != 202 {
		t.Fatalf("the submission came to %d %s", status, body)
	}
	return receipt.RunID
}

// background measures runs that nobody streams, and the first step of all, which is cold.
func (k *bookkeeper) background(t *testing.T, f *cost.Figures) {
	http := k.door(t, "HttpApi")
	all := map[string][]cost.Work{}
	for i := range cost.Runs + 1 {
		submission := k.measure(t, func() {
			k.say(t, http, "t1")
			k.settled(t)
		})
		calls := k.measure(t, func() { k.poll(t) })
		if i == 0 {
			first := k.reports[0]
			f.Cold = cost.Cold{Init: milliseconds(first.Init), Handler: median([]cost.Work{calls}).Handler, CPU: median([]cost.Work{calls}).CPU}
		}
		answer := k.measure(t, func() { k.poll(t) })
		f.Cold.MemoryMB = max(f.Cold.MemoryMB, k.reports[0].MaxMemoryMB)
		if i > 0 { // the first of everything is cold
			all[cost.Submission] = append(all[cost.Submission], submission)
			all[cost.Calls] = append(all[cost.Calls], calls)
			all[cost.Answer] = append(all[cost.Answer], answer)
		}
	}
	for name, w := range all {
		f.Work[name] = median(w)
	}
	if h := k.head(t, "t1"); h.Open() || h.Ready() {
		t.Fatalf("the runs are not done: %+v", h)
	}
}

// streamed measures runs that a request streams, and what is stored of one that takes
// its time.
func (k *bookkeeper) streamed(t *testing.T, f *cost.Figures) {
	rest := k.door(t, "RestApi")
	messages := 0
	talk := func() {
		messages++
		body := fmt.Sprintf(`{"id":"t2","messages":[{"id":"m%d","role":"user","parts":[{"type":"text","text":%q}]}]}`, messages, noise(500))
		if _, body := send(t, "POST", rest+"/v1/ai-sdk/chat", body); !strings.HasSuffix(body, "data: [DONE]\n\n") || strings.Contains(body, `"type":"error"`) {
			t.Fatalf("the chat streamed\n%s", body)
		}
		k.settled(t)
	}
	talk()
	var all []cost.Work
	for range cost.Runs {
		all = append(all, k.measure(t, talk))
	}
	f.Work[cost.Chat] = median(all)
	k.provider.slowly(true)
	defer k.provider.slowly(false)
	for try := 0; try < 3 && f.Mark != 0.25; try++ { // a busy machine makes looks fewer
		k.measure(t, talk)
		units := k.meter.Units()
		f.Mark = math.Round(units["mark"].Read/(2*slowSeconds)*100) / 100
		if units["event"].Write > 0 {
			t.Errorf("a chat that nobody follows writes %v units of chunks", units["event"].Write)
		}
	}
	f.Live = most(func() float64 { return k.heard(t) })
}

// heard is how many units a second Step writes while a client follows its run by the stream
// function.
func (k *bookkeeper) heard(t *testing.T) float64 {
	const seconds = 5
	run := k.say(t, k.door(t, "HttpApi"), "t4")
	over := make(chan struct{})
	go func() {
		defer close(over)
		for done := 0; done < 2; {
			n, err := k.poller.Poll(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			done += n
		}
	}()
	response, err := http.Get(k.door(t, "RestApi") + "/v1/runs/" + run + "/events/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	time.Sleep(4 * time.Second) // by now it is heard, and what was said before is stored
	before := k.meter.Units()["event"].Write
	time.Sleep(seconds * time.Second)
	after := k.meter.Units()["event"].Write
	_, _ = io.Copy(io.Discard, response.Body)
	<-over
	return (after - before) / seconds
}

// most is how many units a second cost, as a whole number. Both kinds are one
// every 500 ms; a busy machine makes them fewer, and then they are measured again.
func most(measure func() float64) (units float64) {
	for tries := 0; tries < 3 && units < 2; tries++ {
		units = max(units, math.Round(measure()))
	}
	return units
}

// settled waits until the last invocation is reported: a response may end before.
func (k *bookkeeper) settled(t *testing.T) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
		k.mu.Lock()
		n := len(k.reports)
		k.mu.Unlock()
		if n > 0 {
			return
		}
	}
	t.Fatal("the invocation does not end")
}

// followed measures a stream whose run waits for Step.
func (k *bookkeeper) followed(t *testing.T, f *cost.Figures) {
	const seconds = 5
	run := k.say(t, k.door(t, "HttpApi"), "t3")
	k.settled(t)
	response, err := http.Get(k.door(t, "RestApi") + "/v1/runs/" + run + "/events/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	time.Sleep(time.Second) // it settles
	f.Look = most(func() float64 {
		before := k.meter.Total()
		time.Sleep(seconds * time.Second)
		after := k.meter.Total()
		if after.Write != before.Write {
			t.Errorf("a stream that waits wrote %v units", after.Write-before.Write)
		}
		return (after.Read - before.Read) / seconds
	})
	k.poll(t)
	k.poll(t)
	_, _ = io.Copy(io.Discard, response.Body)
}

// swept measures sweeps with nothing to do.
func (k *bookkeeper) swept(t *testing.T, f *cost.Figures) {
	var all []cost.Work
	for range cost.Runs + 1 {
		all = append(all, k.measure(t, func() {
			if _, err := k.host.Invoke(t.Context(), k.name(t, "SweepFunction"), []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}))
	}
	f.Work[cost.Sweep] = median(all[1:])
}

// TestCost measures what infra/cost.json says of a deployment, and fails when the units
// are no longer those. Times are not compared: they are this machine's.
func TestCost(t *testing.T) {
	k := newBookkeeper(t)
	f := cost.Figures{Day: time.Now().UTC().Format(time.DateOnly), MemoryMB: 256, Work: map[string]cost.Work{}}
	k.swept(t, &f) // before there is an hour to sum up, if this one ends meanwhile
	k.background(t, &f)
	k.streamed(t, &f)
	k.followed(t, &f)
	k.slept(t, &f)
	k.delegated(t, &f)
	k.coldReads(t, &f)
	table, err := prices.Default()
	if err != nil {
		t.Fatal(err)
	}
	text := cost.Account{Figures: f, Prices: table}.Markdown()
	if *printCost != "" {
		put(t, *printCost, text)
	}
	if *writeCost {
		encoded, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		put(t, "../../../infra/cost.json", string(encoded)+"\n")
		put(t, "../../../infra/cost.md", text)
		return
	}
	recorded, err := os.ReadFile("../../../infra/cost.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := cost.Parse(recorded)
	if err != nil {
		t.Fatal(err)
	}
	checkColdReads(t, want.Reads, f.Reads)
	if diff := cmp.Diff(want.Units(), f.Units()); diff != "" {
		t.Errorf("the units are other ones than in infra/cost.json; if they are right, make cost WRITE=1 (-recorded +measured):\n%s", diff)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
