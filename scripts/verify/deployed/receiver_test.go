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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
			Tool       string `json:"tool_name"`
			Kind       string
		}
		Missed int
	}
}

// String is the announcement without the ids that are made when it happens.
func (a announced) String() string {
	d := a.Data
	line := fmt.Sprintf("%s %s/%s %s, %d steps, missed %d", a.Type, d.Tenant, d.Thread, d.Agent, d.Steps, d.Missed)
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
	tries []try
	taken []announced
	wrong []error // with requests
}

// try is one request.
type try struct{ thread, id string }

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	id := request.Header.Get("Webhook-Id")
	var a announced
	err = errors.Join(err, verify(request.Header, body), json.Unmarshal(body, &a))
	if err == nil && (a.ID != id || request.Method != http.MethodPost || request.URL.String() != "/in?token=x") {
		err = fmt.Errorf("%s %s of %s has the id %s", request.Method, request.URL, id, a.ID)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.wrong = append(r.wrong, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	earlier := 0
	for _, other := range r.tries {
		if other.id == id {
			earlier++
		}
	}
	r.tries = append(r.tries, try{a.Data.Thread, id})
	if a.Type == "run.ended" && earlier < 2 {
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

// about returns what the receiver was told of one thread, and fails if any request was
// wrong. A try is the number of its announcement, in the order of their first tries.
func (r *receiver) about(t *testing.T, id string) (tries []int, taken []announced) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := errors.Join(r.wrong...); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, made := range r.tries {
		if made.thread != id {
			continue
		}
		n := slices.Index(ids, made.id)
		if n < 0 {
			n, ids = len(ids), append(ids, made.id)
		}
		tries = append(tries, n+1)
	}
	for _, a := range r.taken {
		if a.Data.Thread == id {
			taken = append(taken, a)
		}
	}
	return tries, taken
}

// check fails unless, of one thread, the receiver was told what is wanted, in so many
// tries, and nothing twice.
func (r *receiver) check(t *testing.T, when, id string, tries []int, want ...string) {
	t.Helper()
	tried, taken := r.about(t, id)
	var lines []string
	for _, a := range taken {
		lines = append(lines, a.String())
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("%s, of %s the receiver has (-want +got):\n%s", when, id, diff)
	}
	if diff := cmp.Diff(tries, tried); diff != "" {
		t.Errorf("%s, of %s there were the tries (-want +got):\n%s", when, id, diff)
	}
}
