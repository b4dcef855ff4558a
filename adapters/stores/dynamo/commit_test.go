package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// slow is a DynamoDB that takes a second for every put, replies by the item's
// name and keeps when each put arrived.
type slow struct {
	t       *testing.T
	start   time.Time
	replies map[string]reply // by sort key, a pointer's by its partition; missing: written

	mu   sync.Mutex
	puts []string // "<seconds> <name>"
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	var in struct{ Item map[string]struct{ S string } }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		s.t.Error(err)
	}
	name := in.Item[attrSK].S
	if name == pointerName {
		name = in.Item[attrPK].S
	}
	s.mu.Lock()
	s.puts = append(s.puts, fmt.Sprintf("%.0f %s", time.Since(s.start).Seconds(), name))
	s.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	next, ok := s.replies[name]
	if !ok {
		next = done
	}
	if next.err != nil {
		return nil, next.err
	}
	if next.status == 0 {
		next.status = http.StatusOK
	}
	return &http.Response{
		StatusCode: next.status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(next.body)), Request: r,
	}, nil
}

// arrived lists the puts in order of time, then of name.
func (s *slow) arrived() []string {
	slices.Sort(s.puts)
	return s.puts
}

// wholeCommit has two pointers, three records and the head of version 2.
func wholeCommit() store.Commit {
	return store.Commit{
		Pointers: []store.Pointer{{Name: "a", Value: []byte("hi")}, {Name: "b", Value: []byte("hi")}},
		Records: []store.Record{
			{Name: "M#000000000005", Fence: 3, Payload: []byte("hi")},
			{Name: "M#000000000006", Fence: 3, Payload: []byte("hi")},
			{Name: "R#r1", Fence: 3, Version: 2, Payload: []byte("hi")},
		},
		Head: testHead(2, 0),
	}
}

// TestCommit looks at what is sent when, and at what comes of the replies.
func TestCommit(t *testing.T) {
	const (
		pointers = "0 N#acme#a 0 N#acme#b"
		records  = "1 M#000000000005 1 M#000000000006 1 R#r1"
		later    = `{"f":{"N":"4"},"s":{"N":"9"},"p":{"B":"aG8="}}`
		other    = `{"f":{"N":"3"},"s":{"N":"2"},"p":{"B":"aG8="}}`
		equal    = `{"f":{"N":"3"},"s":{"N":"2"},"p":{"B":"aGk="}}`
	)
	ho := []byte("ho")
	tests := []struct {
		name    string
		replies map[string]reply
		sent    string
		outcome store.Outcome
		refused string // the record's name
		code    core.Code
	}{
		{"pointers, then records, then the head", nil, pointers + " " + records + " 2 H", store.Outcome{Written: true}, "", ""},
		{"everything but the head is there already", map[string]reply{"N#acme#a": conflict(equal), "N#acme#b": conflict(equal),
			"M#000000000005": conflict(equal), "M#000000000006": conflict(equal), "R#r1": conflict(equal)},
			pointers + " " + records + " 2 H", store.Outcome{Written: true}, "", ""},
		{"the head is refused", map[string]reply{"H": conflict(theirs)}, pointers + " " + records + " 2 H", store.Outcome{Head: rival}, "", ""},

		{"a pointer is taken", map[string]reply{"N#acme#b": conflict(other)}, pointers,
			store.Outcome{Taken: []store.Pointer{{Name: "b", Value: ho}}}, "", ""},
		{"both pointers are taken", map[string]reply{"N#acme#a": conflict(other), "N#acme#b": conflict(later)}, pointers,
			store.Outcome{Taken: []store.Pointer{{Name: "a", Value: ho}, {Name: "b", Value: ho}}}, "", ""},
		{"a pointer is taken, of the other nothing is known", map[string]reply{"N#acme#a": conflict(other), "N#acme#b": garbled}, pointers,
			store.Outcome{}, "", core.CodeUnavailable},

		{"a record is a later claim's", map[string]reply{"M#000000000006": conflict(later)}, pointers + " " + records,
			store.Outcome{}, "M#000000000006", core.CodeFenced},
		{"a record has other bytes", map[string]reply{"R#r1": conflict(other)}, pointers + " " + records,
			store.Outcome{}, "R#r1", core.CodeConflict},
		{"of two refused records the first is named", map[string]reply{"M#000000000006": conflict(other), "R#r1": conflict(later)}, pointers + " " + records,
			store.Outcome{}, "M#000000000006", core.CodeConflict},
		{"a refusal counts before an unknown outcome", map[string]reply{"M#000000000005": garbled, "R#r1": conflict(later)}, pointers + " " + records,
			store.Outcome{}, "R#r1", core.CodeFenced},
		{"of a record nothing is known", map[string]reply{"R#r1": garbled}, pointers + " " + records,
			store.Outcome{}, "", core.CodeUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slow{t: t, start: time.Now(), replies: tt.replies}
				got, err := New(testClient(t, w), Options{}).Commit(t.Context(), key, wholeCommit())
				if core.CodeOf(err) != tt.code {
					t.Errorf("error %v, want code %q", err, tt.code)
				}
				var refused *store.RefusedError
				if errors.As(err, &refused) != (tt.refused != "") || refused != nil && refused.Name != tt.refused {
					t.Errorf("error %v names the record %v, want %q", err, refused, tt.refused)
				}
				if diff := cmp.Diff(tt.outcome, got); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
				if sent := strings.Join(w.arrived(), " "); sent != tt.sent {
					t.Errorf("sent\n%s\nwant\n%s", sent, tt.sent)
				}
			})
		})
	}
}

func TestCommitIsRefusedWholeBeforeAnythingIsSent(t *testing.T) {
	tests := []struct {
		name   string
		change func(c *store.Commit)
		code   core.Code
	}{
		{"a head without a version", func(c *store.Commit) { c.Head.Version = 0 }, core.CodeInvalid},
		{"a record without a kind", func(c *store.Commit) { c.Records[2].Name = "X#1" }, core.CodeInvalid},
		{"a record's name too long", func(c *store.Commit) { c.Records[2].Name = "R#" + strings.Repeat("r", 1023) }, core.CodeInvalid},
		{"a record too large", func(c *store.Commit) { c.Records[2].Payload = noise(358_401) }, core.CodeTooLarge},
		{"a pointer without a name", func(c *store.Commit) { c.Pointers[1].Name = "" }, core.CodeInvalid},
		{"a pointer too large", func(c *store.Commit) { c.Pointers[1].Value = noise(358_401) }, core.CodeTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := scripted(t) // no request is allowed
			c := wholeCommit()
			tt.change(&c)
			if got, err := s.Commit(context.Background(), key, c); core.CodeOf(err) != tt.code || !cmp.Equal(got, store.Outcome{}) {
				t.Errorf("returns %+v, %v; want code %q", got, err, tt.code)
			}
		})
	}
}

func TestCommitSendsSixteenRecordsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slow{t: t, start: time.Now()}
		c := store.Commit{Head: testHead(1, 0)}
		for i := range 33 {
			c.Records = append(c.Records, store.Record{Name: store.LogName(uint64(i)), Fence: 1})
		}
		if got, err := New(testClient(t, w), Options{}).Commit(t.Context(), key, c); err != nil || !got.Written {
			t.Fatalf("returns %+v, %v", got, err)
		}
		at := map[string]int{}
		for _, put := range w.arrived() {
			at[put[:1]]++
		}
		if diff := cmp.Diff(map[string]int{"0": 16, "1": 16, "2": 1, "3": 1}, at); diff != "" {
			t.Errorf("puts by second (-want +got):\n%s", diff)
		}
	})
}

// TestCancelledCommitWaitsForWhatItHasSent: no goroutine is left behind, and no
// head goes out over records that nobody knows of.
func TestCancelledCommitWaitsForWhatItHasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		w := &slow{t: t, start: time.Now()}
		got, err := New(testClient(t, w), Options{}).Commit(ctx, key, wholeCommit())
		if !errors.Is(err, context.DeadlineExceeded) || !cmp.Equal(got, store.Outcome{}) {
			t.Errorf("returns %+v, %v; want one that wraps the context's error", got, err)
		}
		if took := time.Since(w.start); took != 1500*time.Millisecond {
			t.Errorf("it took %s, want 1.5s", took)
		}
		if sent := strings.Join(w.arrived(), " "); strings.HasSuffix(sent, "H") || len(w.puts) != 5 {
			t.Errorf("sent %s, want the pointers and the records", sent)
		}
	})
}
