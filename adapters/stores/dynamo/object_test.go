package dynamo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/dynamo/dynamotest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// shelf is a bucket in memory. fail, if not nil, is what every Put comes to.
type shelf struct {
	mu      sync.Mutex
	objects map[string][]byte
	asked   []string
	fail    error
	busy    int
	most    int // Gets at the same time
}

func (s *shelf) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what)
}

func (s *shelf) Put(_ context.Context, key string, content []byte) error {
	s.note("put " + key)
	if s.fail != nil {
		return s.fail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string][]byte{}
	}
	s.objects[key] = bytes.Clone(content)
	return nil
}

func (s *shelf) Get(_ context.Context, key string, most int) ([]byte, bool, error) {
	s.note("get " + key)
	s.mu.Lock()
	s.busy++
	s.most = max(s.most, s.busy)
	content, ok := s.objects[key]
	s.mu.Unlock()
	runtime.Gosched()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	return content[:min(len(content), most+1)], ok, nil
}

func (s *shelf) Erase(_ context.Context, prefix string) error {
	s.note("erase " + prefix)
	return s.fail
}

// with gives a scripted store a bucket.
func with(t *testing.T, objects *shelf, replies ...reply) (*Store, *wire) {
	t.Helper()
	s, w := scripted(t, replies...)
	s.objects = objects
	return s, w
}

const large = 40 << 10 // bytes of noise

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func largeRecord() store.Record {
	return store.Record{Name: "M#000000000006", Fence: 3, Payload: noise(large)}
}

// TestTheObjectIsThereBeforeTheItemThatNamesIt: by the incarnation of the head that is
// committed, or of the one that stands.
func TestTheObjectIsThereBeforeTheItemThatNamesIt(t *testing.T) {
	sum := sumOf(noise(large))
	objects := &shelf{}
	s, w := with(t, objects, done, done)
	head := testHead(1, 0)
	head.Incarnation = 0x1f
	if _, err := s.Commit(t.Context(), key, store.Commit{Records: []store.Record{largeRecord()}, Head: head}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"put acme/t1/000000000000001f/" + sum}, objects.asked); diff != "" {
		t.Error(diff)
	}
	wantJSON(t, `{"TableName":"threads",
		"Item":{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000006"},"f":{"N":"3"},"b":{"S":"000000000000001f/`+sum+`"},"n":{"N":"40960"}},
		"ConditionExpression":"attribute_not_exists(pk) OR f < :f","ExpressionAttributeValues":{":f":{"N":"3"}},
		"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`, w.requests[0].body)

	objects = &shelf{}
	s, w = with(t, objects, reply{body: `{"Item":` + before + `}`}, done)
	if err := s.Put(t.Context(), key, largeRecord()); err != nil || w.operations() != "GetItem PutItem" {
		t.Errorf("%v after %s", err, w.operations())
	}
	if diff := cmp.Diff([]string{"put acme/t1/0000000000000000/" + sum}, objects.asked); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsWrittenWithoutItsObject: the error keeps its meaning, and the item is not
// sent.
func TestNothingIsWrittenWithoutItsObject(t *testing.T) {
	for _, cause := range []error{store.ErrThrottled, core.Errorf(core.CodeUnavailable, "no response")} {
		s, _ := with(t, &shelf{fail: cause})
		got, err := s.Commit(t.Context(), key, store.Commit{Records: []store.Record{largeRecord()}, Head: testHead(1, 0)})
		if !errors.Is(err, cause) || got.Written || !strings.HasPrefix(err.Error(), "put M#000000000006 of acme/t1: ") {
			t.Errorf("%+v, %v, want %v", got, err, cause)
		}
	}
}

func TestWhatStandsInTheWayOfAnObject(t *testing.T) {
	sum, other := sumOf(noise(large)), sumOf(noise(large+1))
	stored := func(fence int, name, size string) reply {
		return conflict(fmt.Sprintf(`{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000006"},"f":{"N":"%d"},"b":{"S":"%s"},"n":{"N":"%s"}}`, fence, name, size))
	}
	const first, another = "0000000000000000/", "00000000000000aa/"
	tests := []struct {
		name    string
		replies []reply
		want    error
		gets    int
	}{
		{"nothing", []reply{done}, nil, 0},
		{"the same", []reply{stored(3, first+sum, "40960")}, nil, 0},
		{"the same, of another incarnation", []reply{stored(3, another+sum, "40960")}, nil, 0},
		{"other bytes", []reply{stored(3, first+other, "40961")}, store.ErrConflict, 1},
		{"the same, under a later fence", []reply{stored(4, first+sum, "40960")}, store.ErrFenced, 0},
		{"the same in the item, from before there was a bucket", []reply{conflict(`{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000006"},"f":{"N":"3"},"p":{"B":"aGk="}}`)}, store.ErrConflict, 0},
		{"a length that is not the object's", []reply{stored(3, first+other, "40960")}, store.ErrCorrupt, 1},
		{"our object, by another length", []reply{stored(3, first+sum, "40959")}, store.ErrCorrupt, 1},
		{"no name", []reply{stored(3, "x", "1")}, store.ErrCorrupt, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects := &shelf{objects: map[string][]byte{"acme/t1/" + first + other: noise(large + 1)}}
			s, _ := with(t, objects, append([]reply{{body: `{}`}}, tt.replies...)...)
			if err := s.Put(t.Context(), key, largeRecord()); !errors.Is(err, tt.want) || err != nil && tt.want == nil {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if gets := len(objects.asked) - 1; gets != tt.gets {
				t.Errorf("%d objects were fetched, want %d: %v", gets, tt.gets, objects.asked)
			}
		})
	}
}

// TestObjectsOfALog are fetched side by side, come in order, and not before their time.
func TestObjectsOfALog(t *testing.T) {
	const n = 40
	objects := &shelf{objects: map[string][]byte{}}
	var items []string
	for i := range n {
		content := []byte("payload " + strconv.Itoa(i))
		objects.objects["acme/t1/0000000000000000/"+sumOf(content)] = content
		items = append(items, fmt.Sprintf(`{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#%012d"},"b":{"S":"0000000000000000/%s"},"n":{"N":"%d"}}`, i, sumOf(content), len(content)))
	}
	page := reply{body: `{"Items":[` + strings.Join(items, ",") + `]}`}
	s, _ := with(t, objects, page)
	i := 0
	for r, err := range s.Log(t.Context(), key, 0, n) {
		if want := "payload " + strconv.Itoa(i); err != nil || string(r.Payload) != want {
			t.Fatalf("record %d is %q, %v", i, r.Payload, err)
		}
		if i++; len(objects.asked) > (i+atOnce-1)/atOnce*atOnce {
			t.Fatalf("%d objects were fetched for %d records", len(objects.asked), i)
		}
	}
	if i != n || len(objects.asked) != n || objects.most > atOnce {
		t.Errorf("%d records, %d objects, %d at once", i, len(objects.asked), objects.most)
	}
}

// TestARecordThatWasErasedMeanwhileIsNone, and one that was not is corrupt.
func TestARecordThatWasErasedMeanwhileIsNone(t *testing.T) {
	named := `{"Item":{"pk":{"S":"T#acme#t1"},"sk":{"S":"R#r1"},"f":{"N":"3"},"b":{"S":"0000000000000000/` + sumOf(nil) + `"},"n":{"N":"9"}}}`
	s, _ := with(t, &shelf{}, reply{body: named}, done)
	if r, ok, err := s.Get(t.Context(), key, "R#r1"); ok || err != nil {
		t.Errorf("read %s, %v, %v, want none", r.Name, ok, err)
	}
	s, _ = with(t, &shelf{}, reply{body: named}, reply{body: named})
	if _, ok, err := s.Get(t.Context(), key, "R#r1"); ok || !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("%v, %v, want ErrCorrupt", ok, err)
	}
}

// TestWindowsAreBounded in objects and bytes.
func TestWindowsAreBounded(t *testing.T) {
	plain := item{attrPayload: blob([]byte("x"))}
	of := func(size int) item { return item{attrObject: text("o"), attrSize: number(size)} }
	repeat := func(it item, n int) (items []item) {
		for range n {
			items = append(items, it)
		}
		return items
	}
	tests := []struct {
		name  string
		items []item
		want  int
	}{
		{"no object", repeat(plain, 500), 500},
		{"16 objects", repeat(of(1), 16), 16},
		{"17 objects", repeat(of(1), 17), 16},
		{"8 MB", repeat(of(4<<20), 2), 2},
		{"a byte more", []item{of(4 << 20), of(4<<20 + 1)}, 1},
		{"one of 16 MB", []item{of(16 << 20), of(1)}, 1},
		{"behind what is small", []item{plain, plain, of(16 << 20), plain, of(1), plain}, 4},
	}
	for _, tt := range tests {
		if got := window(tt.items); got != tt.want {
			t.Errorf("%s: %d items, want %d", tt.name, got, tt.want)
		}
	}
}

// TestEraseEndsWithTheObjects, when no record is left, and is not done before.
func TestEraseEndsWithTheObjects(t *testing.T) {
	objects := &shelf{}
	page := reply{body: `{"Items":[{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"}},{"pk":{"S":"T#acme#t1"},"sk":{"S":"R#r1"}}]}`}
	none := reply{body: `{"Items":[{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"}}]}`}
	s, _ := with(t, objects, page, done, none, none)
	if n, err := s.Erase(t.Context(), key, 10); n != 1 || err != nil || len(objects.asked) != 0 {
		t.Errorf("%d, %v, %v", n, err, objects.asked)
	}
	if n, err := s.Erase(t.Context(), key, 10); n != 0 || err != nil || strings.Join(objects.asked, " ") != "erase acme/t1/" {
		t.Errorf("%d, %v, %v", n, err, objects.asked)
	}
	objects.fail = errors.New("no response")
	if n, err := s.Erase(t.Context(), key, 10); n != 0 || !errors.Is(err, objects.fail) {
		t.Errorf("%d, %v, want the bucket's error", n, err)
	}
}

// TestWhatAnOverflowCosts: a PUT for each object, and units as for a small item; a record
// that is put alone reads the head besides.
func TestWhatAnOverflowCosts(t *testing.T) {
	objects := &shelf{}
	s, m := metered(t, done, done, done, done)
	s.objects = objects
	head := store.Head{Layout: 1, Schema: 1, Version: 1, CommitID: core.ID{1}}
	if _, err := s.Commit(t.Context(), key, store.Commit{Records: []store.Record{largeRecord()}, Head: head}); err != nil {
		t.Fatal(err)
	}
	want := map[string]dynamotest.Units{"log": {Write: 1, Calls: 1}, "head": {Write: 1, Calls: 1}}
	if diff := cmp.Diff(want, m.Units()); diff != "" || len(objects.asked) != 1 {
		t.Errorf("%d PUTs and units (-want +got):\n%s", len(objects.asked), diff)
	}
	m.Reset()
	if err := s.Put(t.Context(), key, largeRecord()); err != nil {
		t.Fatal(err)
	}
	want = map[string]dynamotest.Units{"log": {Write: 1, Calls: 1}, "head": {Read: 1, Calls: 1}}
	if diff := cmp.Diff(want, m.Units()); diff != "" || len(objects.asked) != 2 {
		t.Errorf("%d PUTs and units (-want +got):\n%s", len(objects.asked), diff)
	}
}
