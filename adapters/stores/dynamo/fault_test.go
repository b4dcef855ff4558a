package dynamo

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Heads as they are stored: before is testHead(1, 0), ours testHead(2, 0), theirs a
// rival's version 2.
const (
	before = `{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"},"h":{"B":"` + head1 + `"},"v":{"N":"1"}}`
	ours   = `{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"},"h":{"B":"` + head2 + `"},"v":{"N":"2"}}`
	theirs = `{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"},"h":{"B":"` + headRival + `"},"v":{"N":"2"}}`
)

var rival = store.Head{Layout: 1, Schema: 1, Version: 2, CommitID: core.ID{0xc0, 0x02}, Seq: 6}

// TestHeadWriteUnderFaults: every way in which a write can go wrong ends in
// written, refused with the stored head, or an error that says what is known.
func TestHeadWriteUnderFaults(t *testing.T) {
	tests := []struct {
		name    string
		replies []reply
		stored  store.Head
		written bool
		code    core.Code
	}{
		{"written", []reply{done}, store.Head{}, true, ""},
		{"lost race", []reply{conflict(theirs)}, rival, false, ""},
		{"our own head, written by an earlier call", []reply{conflict(ours)}, testHead(2, 0), false, ""},
		{"the endpoint does not return the item", []reply{conflict(""), {body: `{"Item":` + theirs + `}`}}, rival, false, ""},
		{"there is no head", []reply{conflict(""), done}, store.Head{}, false, ""},
		{"there was no head, and then the one before ours", []reply{conflict(""), {body: `{"Item":` + before + `}`}, done}, store.Head{}, true, ""},
		{"there was no head, then the one before ours, then a rival's", []reply{conflict(""), {body: `{"Item":` + before + `}`}, conflict(theirs)}, rival, false, ""},
		{"no response, no head, then the one before ours, then ours", []reply{lost, conflict(""), {body: `{"Item":` + before + `}`}, conflict(ours)}, store.Head{}, true, ""},
		{"the one before ours comes and goes", []reply{conflict(""), {body: `{"Item":` + before + `}`}, conflict(""), {body: `{"Item":` + before + `}`}}, store.Head{}, false, core.CodeUnavailable},

		{"no response, but applied", []reply{lost, conflict(ours)}, store.Head{}, true, ""},
		{"no response, applied, and the item is not returned", []reply{lost, conflict(""), {body: `{"Item":` + ours + `}`}}, store.Head{}, true, ""},
		{"5xx, but applied", []reply{broken, conflict(ours)}, store.Head{}, true, ""},
		{"no response, not applied", []reply{lost, done}, store.Head{}, true, ""},
		{"no response, and a rival wrote", []reply{lost, conflict(theirs)}, rival, false, ""},
		{"no response twice, then applied", []reply{lost, broken, done}, store.Head{}, true, ""},

		{"never a response", []reply{lost, lost, lost}, store.Head{}, false, core.CodeUnavailable},
		{"5xx for good", []reply{broken, broken, broken}, store.Head{}, false, core.CodeUnavailable},
		{"throttled for good", []reply{throttle, throttle2, throttle3}, store.Head{}, false, core.CodeThrottled},
		{"throttled once", []reply{throttle, done}, store.Head{}, true, ""},
		{"throttled, then a lost race", []reply{throttle2, conflict(theirs)}, rival, false, ""},
		{"throttled after a try without a response: it may have been written", []reply{lost, throttle, throttle}, store.Head{}, false, core.CodeUnavailable},
		{"a response that cannot be read", []reply{garbled}, store.Head{}, false, core.CodeUnavailable},
		{"refused as invalid", []reply{invalid}, store.Head{}, false, core.CodeInternal},
		{"refused as invalid after a try without a response", []reply{lost, invalid}, store.Head{}, false, core.CodeUnavailable},

		{"the stored head is garbage", []reply{conflict(`{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"},"h":{"B":"AQI="},"v":{"N":"2"}}`)}, store.Head{}, false, core.CodeCorrupt},
		{"the stored head is missing", []reply{conflict(`{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"},"v":{"N":"2"}}`)}, store.Head{}, false, core.CodeCorrupt},
		{"the stored versions differ", []reply{conflict(strings.Replace(ours, `"N":"2"`, `"N":"3"`, 1))}, store.Head{}, false, core.CodeCorrupt},
		{"a newer layout", []reply{conflict(strings.Replace(ours, `"AQ`, `"/w`, 1))}, store.Head{}, false, core.CodeSchema},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := scripted(t, tt.replies...)
			got, err := s.Commit(context.Background(), key, store.Commit{Head: testHead(2, 0)})
			if core.CodeOf(err) != tt.code {
				t.Errorf("error %v, want code %q", err, tt.code)
			}
			if diff := cmp.Diff(store.Outcome{Written: tt.written, Head: tt.stored}, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPutUnderFaults does the same for every kind of record. The records are
// put with the payload "hi" under fence 3, at version 4.
func TestPutUnderFaults(t *testing.T) {
	const (
		logName, createName, rewriteName = "M#000000000006", "D#d1", "R#r1"
		payload                          = `"p":{"B":"aGk="}`
		other                            = `"p":{"B":"aG8="}`
	)
	stored := func(attributes ...string) reply {
		return conflict(`{"pk":{"S":"T#acme#t1"},"sk":{"S":"?"},` + strings.Join(attributes, ",") + `}`)
	}
	fence := func(n string) string { return `"f":{"N":"` + n + `"}` }
	version := func(n string) string { return `"s":{"N":"` + n + `"}` }
	tests := []struct {
		name    string
		record  string
		replies []reply
		want    error
	}{
		{"log: no response, but applied", logName, []reply{lost, stored(fence("3"), payload)}, nil},
		{"log: equal bytes of an earlier call", logName, []reply{stored(fence("3"), payload)}, nil},
		{"log: other bytes", logName, []reply{stored(fence("3"), other)}, store.ErrConflict},
		{"log: a later claim's", logName, []reply{stored(fence("4"), payload)}, store.ErrFenced},
		{"log: no response, then a later claim's", logName, []reply{lost, stored(fence("4"), other)}, store.ErrFenced},
		{"log: the item is not returned", logName, []reply{conflict(""), {body: `{"Item":{"sk":{"S":"?"},` + fence("4") + `}}`}}, store.ErrFenced},
		{"log: gone before it could be read", logName, []reply{conflict(""), done, done}, nil},
		{"log: coming and going", logName, []reply{conflict(""), done, conflict(""), done}, errUnavailable},

		{"create: no response, but applied", createName, []reply{lost, stored(payload)}, nil},
		{"create: equal bytes of an earlier call", createName, []reply{stored(payload)}, nil},
		{"create: other bytes", createName, []reply{stored(other)}, store.ErrConflict},
		{"create: no response, then other bytes", createName, []reply{broken, stored(other)}, store.ErrConflict},

		{"rewrite: no response, but applied", rewriteName, []reply{lost, stored(fence("3"), version("4"), payload)}, nil},
		{"rewrite: equal bytes of an earlier call", rewriteName, []reply{stored(fence("3"), version("4"), payload)}, nil},
		{"rewrite: other bytes", rewriteName, []reply{stored(fence("3"), version("4"), other)}, store.ErrConflict},
		{"rewrite: a later version's", rewriteName, []reply{stored(fence("3"), version("5"), other)}, store.ErrFenced},
		{"rewrite: a later claim's", rewriteName, []reply{stored(fence("4"), version("1"), other)}, store.ErrFenced},

		{"no response, not applied", logName, []reply{lost, done}, nil},
		{"5xx, then written", logName, []reply{broken, done}, nil},
		{"never a response", logName, []reply{lost, lost, lost}, errUnavailable},
		{"5xx for good", logName, []reply{broken, broken, broken}, errUnavailable},
		{"throttled for good", logName, []reply{throttle, throttle, throttle}, store.ErrThrottled},
		{"throttled after a try without a response", logName, []reply{throttle, lost, throttle}, errUnavailable},
		{"a response that cannot be read", logName, []reply{garbled}, errUnavailable},
		{"the stored fence is no number", logName, []reply{stored(`"f":{"S":"3"}`)}, store.ErrCorrupt},
		{"the stored payload is no zstd", logName, []reply{stored(fence("3"), payload, `"z":{"BOOL":true}`)}, store.ErrCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := scripted(t, tt.replies...)
			record := store.Record{Name: tt.record, Payload: []byte("hi")}
			if record.Kind() != store.KindCreate {
				record.Fence = 3
			}
			if record.Kind() == store.KindRewrite {
				record.Version = 4
			}
			if err := s.Put(context.Background(), key, record); core.CodeOf(err) != core.CodeOf(tt.want) || tt.want != errUnavailable && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// errUnavailable stands for every error of its code: an outcome that is not known
// has no sentinel.
var errUnavailable = core.Errorf(core.CodeUnavailable, "the outcome is unknown")

func TestPointerUnderFaults(t *testing.T) {
	stored := conflict(`{"pk":{"S":"N#acme#k"},"sk":{"S":"N"},"p":{"B":"aGk="}}`)
	older := conflict(`{"pk":{"S":"N#acme#k"},"sk":{"S":"N"},"p":{"B":"aG8="}}`)
	tests := []struct {
		name    string
		replies []reply
		taken   []store.Pointer
		code    core.Code
	}{
		{"written", []reply{done, done}, nil, ""},
		{"no response, but applied", []reply{lost, stored, done}, nil, ""},
		{"the same value of an earlier call", []reply{stored, done}, nil, ""},
		{"an older value", []reply{older}, []store.Pointer{{Name: "k", Value: []byte("ho")}}, ""},
		{"the item is not returned", []reply{conflict(""), {body: `{"Item":{"p":{"B":"aG8="}}}`}}, []store.Pointer{{Name: "k", Value: []byte("ho")}}, ""},
		{"gone before it could be read", []reply{conflict(""), done, done, done}, nil, ""},
		{"coming and going", []reply{conflict(""), done, conflict(""), done}, nil, core.CodeUnavailable},
		{"throttled for good", []reply{throttle, throttle, throttle}, nil, core.CodeThrottled},
		{"never a response", []reply{lost, lost, lost}, nil, core.CodeUnavailable},
		{"the stored value is no zstd", []reply{conflict(`{"p":{"B":"aG8="},"z":{"BOOL":true}}`)}, nil, core.CodeCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := scripted(t, tt.replies...)
			got, err := s.Commit(context.Background(), key, store.Commit{
				Pointers: []store.Pointer{{Name: "k", Value: []byte("hi"), TTL: time.Hour}}, Head: testHead(1, 0),
			})
			if core.CodeOf(err) != tt.code {
				t.Errorf("error %v, want code %q", err, tt.code)
			}
			want := store.Outcome{Written: tt.code == "" && tt.taken == nil, Taken: tt.taken}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadsUnderFaults(t *testing.T) {
	ctx := context.Background()
	reads := map[string]func(s *Store) error{
		"Head":         func(s *Store) error { _, err := s.Head(ctx, key); return err },
		"Get":          func(s *Store) error { _, _, err := s.Get(ctx, key, "D#d1"); return err },
		"Log":          func(s *Store) error { return drain(s.Log(ctx, key, 1, 2)) },
		"LogBackwards": func(s *Store) error { return drain(s.LogBackwards(ctx, key, 1, 2)) },
		"Records":      func(s *Store) error { _, err := s.Records(ctx, key, "R#", "", 5); return err },
		"Overdue":      func(s *Store) error { _, err := s.Overdue(ctx, 0, 1, nil, 5); return err },
		"NothingDue":   func(s *Store) error { _, err := s.NothingDue(ctx); return err },
		"Pointer":      func(s *Store) error { _, _, err := s.Pointer(ctx, "acme", "k"); return err },
	}
	tests := []struct {
		name    string
		replies []reply
		code    core.Code
	}{
		{"5xx, then a response", []reply{broken, done}, ""},
		{"no response, then a response", []reply{lost, done}, ""},
		{"never a response", []reply{lost, lost, lost}, core.CodeUnavailable},
		{"throttled for good", []reply{throttle, throttle, throttle}, core.CodeThrottled},
		{"a response that cannot be read", []reply{garbled}, core.CodeUnavailable},
		{"refused as invalid", []reply{invalid}, core.CodeInternal},
	}
	for name, read := range reads {
		for _, tt := range tests {
			t.Run(name+": "+tt.name, func(t *testing.T) {
				s, _ := scripted(t, tt.replies...)
				if err := read(s); core.CodeOf(err) != tt.code {
					t.Errorf("error %v, want code %q", err, tt.code)
				}
			})
		}
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	s, _ := scripted(t, lost, lost, lost)
	if _, err := s.Head(context.Background(), key); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v hides the transport's", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, _ = scripted(t)
	if _, err := s.Head(ctx, key); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v hides the cancelled context", err)
	}
}

func TestTooLargeIsRefusedBeforeTheCall(t *testing.T) {
	s, _ := scripted(t) // no request is allowed
	err := s.Put(context.Background(), key, store.Record{Name: "M#000000000001", Fence: 1, Payload: noise(358_401)})
	if !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("error %v, want ErrTooLarge", err)
	}
	const want = "put in acme/t1: record is over the size limit: record M#000000000001 of 358401 bytes has 358401 bytes compressed, at most 358400 are allowed"
	if err.Error() != want {
		t.Errorf("error text\n%s\nwant\n%s", err, want)
	}
	err = s.Put(context.Background(), key, store.Record{Name: "M#000000000001", Fence: 1, Payload: make([]byte, 16<<20+1)})
	if !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a payload that no reader would decompress: error %v, want ErrTooLarge", err)
	}
}

func TestLargestPayloadIsSent(t *testing.T) {
	s, w := scripted(t, done)
	if err := s.Put(context.Background(), key, store.Record{Name: "M#000000000001", Fence: 1, Payload: noise(358_400)}); err != nil {
		t.Fatal(err)
	}
	if size := len(w.requests[0].body); size < 4*358_400/3 {
		t.Errorf("the request has %d bytes", size)
	}
}
