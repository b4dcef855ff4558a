//go:build aws

package deployed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
)

// A model that speaks for 30 s to its own client alone stores nothing of it before the
// commit, and looks for a mark with the look at the head that comes every 2 s.
func TestAStreamThatNobodyFollowsStoresNoChunk(t *testing.T) {
	d := deploy(t, map[string]string{"Auth": "none", "LogLevel": "error", "Model": "scripted"})
	door := d.door(t, "RestApi")
	d.meter.Reset()
	began := time.Now()
	_, body := send(t, "POST", door+"/v1/ai-sdk/chat", `{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"slow: 300"}]}]}`)
	if n := strings.Count(body, `"type":"text-delta"`); n != 300 {
		t.Errorf("the client has %d words, want 300:\n%.2000s", n, body)
	}
	d.ends(t, "t1")
	took := time.Since(began)
	units := d.meter.Units()
	if chunks, marks := units["event"], units["mark"]; chunks.Calls != 0 || marks.Write != 0 {
		t.Errorf("chunks cost %+v and marks %+v, want no write", chunks, marks)
	}
	// 30 s have 15 looks; on a slow machine the run lasts longer.
	looks := 1 + took.Seconds()/2
	if marks := units["mark"]; marks.Read < 5 || float64(marks.Calls) > looks || marks.Read != 0.5*float64(marks.Calls) {
		t.Errorf("looks for a mark cost %+v, want half a unit each 2 s of %s", marks, took)
	}
}

// A run in the background, and one that a request streams, are heard by a client of
// another process: within 3.5 s of its coming, and then a second behind. A machine that
// has other things to do may make that later; then it is measured again.
func TestAClientOfAnotherProcessHearsARunOnDemand(t *testing.T) {
	d := deploy(t, map[string]string{"Auth": "none", "LogLevel": "error", "Model": "scripted"})
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprint("streamed ", streamed), func(t *testing.T) {
			var complaint string
			for try := range 3 {
				if complaint = d.heard(t, fmt.Sprintf("t-%t-%d", streamed, try), streamed); complaint == "" {
					return
				}
			}
			t.Error(complaint)
		})
	}
}

// words is how many a followed model says, one every 100 ms.
const words = 150

// heard follows a run 2 s after it was asked for, and says what came late.
func (d *deployment) heard(t *testing.T, thread string, streamed bool) (complaint string) {
	t.Helper()
	run, over := d.asks(t, thread, streamed)
	time.Sleep(2 * time.Second)
	came := time.Now()
	response, err := http.Get(d.door(t, "RestApi") + "/v1/runs/" + run + "/events/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	type arrival struct {
		at    time.Duration // since the client came
		words int           // that it has by then
	}
	var arrivals []arrival
	text := ""
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var e core.Event
		if !ok || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		switch e.Type {
		case core.EventTextDelta:
			text += e.Delta
			arrivals = append(arrivals, arrival{time.Since(came), len(strings.Fields(text))})
		case core.EventStepRestarted:
			t.Errorf("the client is told that the step was restarted")
		}
	}
	<-over
	if got := strings.Fields(text); len(got) != words || got[0] != "w1" || got[words-1] != fmt.Sprint("w", words) {
		t.Fatalf("the client has %q", text)
	}
	if first := arrivals[0].at; first > 3500*time.Millisecond {
		return fmt.Sprintf("the first words come %s after the client, want 3.5 s at most", first)
	}
	// The last word is said at most as long before it comes as the commit takes.
	last := arrivals[len(arrivals)-1]
	for _, a := range arrivals {
		said := last.at - time.Duration(words-a.words)*100*time.Millisecond
		if a.at > 3500*time.Millisecond && a.at-said > time.Second {
			return fmt.Sprintf("word %d comes %s after it was said, want a second at most", a.words, a.at-said)
		}
	}
	return ""
}

// asks lets the functions work on a run, and closes over when it is done.
func (d *deployment) asks(t *testing.T, thread string, streamed bool) (run string, over <-chan struct{}) {
	t.Helper()
	done := make(chan struct{})
	if !streamed {
		status, body := send(t, "POST", d.door(t, "HttpApi")+"/v1/threads/"+thread+"/messages",
			fmt.Sprintf(`{"messages":[{"role":"user","content":"slow: %d"}]}`, words))
		var receipt struct {
			RunID string `json:"run_id"`
		}
		if err := json.Unmarshal([]byte(body), &receipt); err != nil || status != 202 {
			t.Fatalf("the submission came to %d %s", status, body)
		}
		go func() {
			defer close(done)
			for done, err := 0, error(nil); done == 0; {
				if done, err = d.pollers[0].Poll(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		}()
		return receipt.RunID, done
	}
	id := make(chan string, 1)
	go func() {
		defer close(done)
		defer close(id)
		body := fmt.Sprintf(`{"threadId":%q,"messages":[{"role":"user","content":"slow: %d"}]}`, thread, words)
		response, err := http.Post(d.door(t, "RestApi")+"/v1/runs", "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			data, _ := strings.CutPrefix(lines.Text(), "data: ")
			var e core.Event
			if json.Unmarshal([]byte(data), &e) == nil && e.Type == core.EventRunStart {
				id <- e.RunID.String()
			}
		}
	}()
	return <-id, done
}
