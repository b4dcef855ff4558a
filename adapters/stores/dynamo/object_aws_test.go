//go:build aws

package dynamo_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/internal/awsapi"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/s3"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// bucket makes one that lives as long as the test.
func bucket(t testing.TB) *s3.Bucket {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL_S3") == "" {
		t.Skip("AWS_ENDPOINT_URL_S3 is not set: this test needs an endpoint; make test-aws starts one and sets it")
	}
	name := fmt.Sprintf("payloads-%d", time.Now().UnixNano())
	c := awsenv.Config{Timeout: 30 * time.Second}
	service, err := awsapi.New(c, awsapi.Options{Title: "S3", Signing: "s3", Endpoint: "AWS_ENDPOINT_URL_S3"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s3.New(c, name)
	if err != nil {
		t.Fatal(err)
	}
	change := func(method, done string) { // done: the code of a try after one whose answer was lost
		response, err := service.Send(context.Background(), awsapi.Call{Method: method, Path: "/" + name})
		if err != nil || response.Status/100 != 2 && !bytes.Contains(response.Body, []byte("<Code>"+done+"</Code>")) {
			t.Fatalf("%s bucket: status %d, %v: %s", method, response.Status, err, response.Body)
		}
	}
	change(http.MethodPut, "BucketAlreadyOwnedByYou")
	t.Cleanup(func() {
		if err := b.Erase(context.Background(), ""); err != nil {
			t.Error(err)
		}
		change(http.MethodDelete, "NoSuchBucket")
	})
	return b
}

// payloadClauses are the clauses of the contract that a bucket may affect.
var payloadClauses = regexp.MustCompile("Payload|Limit|Records|Erase|Stopped|Kept")

// TestContractWithABucket is the contract where payloads over 32 KB are objects. With -short
// it is the clauses about payloads.
func TestContractWithABucket(t *testing.T) {
	objects := bucket(t)
	c, table := client(t)
	config := configTable(t, c)
	stoppable, err := dynamo.NewClient(awsenv.Config{Transport: stopping{http.DefaultTransport}, Timeout: 30 * time.Second, Backoff: func(int) time.Duration { return 0 }, MaxAttempts: 8})
	if err != nil {
		t.Fatal(err)
	}
	on := func(c *dynamodb.Client) store.Backend {
		return dynamo.New(c, dynamo.Options{Table: table, ConfigTable: config, Objects: objects})
	}
	options := storetest.Options{
		MaxPayload: 350 << 10, MaxRecord: 16 << 20, Stop: stop,
		Reopen: func(*testing.T, store.Backend) store.Backend { return on(c) },
	}
	options.Run(t, func(t *testing.T) store.Backend {
		if testing.Short() && !payloadClauses.MatchString(t.Name()) {
			t.Skip("a bucket does not affect this clause")
		}
		return on(stoppable)
	})
}

// faulty is a bucket that fails as it is told, and counts.
type faulty struct {
	*s3.Bucket
	puts, gets int
	lie        func(content []byte, ok bool) ([]byte, bool)
}

func (f *faulty) Put(ctx context.Context, key string, content []byte) error {
	f.puts++
	return f.Bucket.Put(ctx, key, content)
}

func (f *faulty) Get(ctx context.Context, key string, most int) ([]byte, bool, error) {
	f.gets++
	content, ok, err := f.Bucket.Get(ctx, key, most)
	if f.lie != nil {
		content, ok = f.lie(content, ok)
	}
	return content, ok, err
}

// noisy is what no compression makes smaller.
func noisy(seed byte, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func TestWhatIsAnObject(t *testing.T) {
	ctx := t.Context()
	objects := &faulty{Bucket: bucket(t)}
	c, table := client(t)
	s := dynamo.New(c, dynamo.Options{Table: table, Objects: objects})
	key := core.ThreadKey{Tenant: "acme", Thread: "a:b"} // a colon is signed as %3A
	put := func(seq uint64, payload []byte) store.Record {
		t.Helper()
		r := store.Record{Name: store.LogName(seq), Fence: 1, Payload: payload}
		if err := s.Put(ctx, key, r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	put(1, noisy(1, 32<<10))
	if objects.puts != 0 {
		t.Errorf("32 KB became an object")
	}
	put(2, bytes.Repeat([]byte("text "), 40<<10))
	if objects.puts != 0 {
		t.Errorf("200 KB that are small after compression became an object")
	}
	large := put(3, noisy(3, 32<<10+1))
	if objects.puts != 1 {
		t.Errorf("%d objects were put, want 1", objects.puts)
	}
	sum := sha256.Sum256(large.Payload)
	at := "acme/a:b/0000000000000000/" + hex.EncodeToString(sum[:])
	if content, ok, err := objects.Bucket.Get(ctx, at, 1<<20); err != nil || !ok || !bytes.Equal(content, large.Payload) {
		t.Errorf("object %s has %d bytes, %v, %v", at, len(content), ok, err)
	}
	if got, ok, err := s.Get(ctx, key, large.Name); err != nil || !ok || !bytes.Equal(got.Payload, large.Payload) {
		t.Errorf("read %d bytes, %v, %v", len(got.Payload), ok, err)
	}
	gets := objects.gets
	put(3, large.Payload)
	if objects.gets != gets {
		t.Error("equal bytes were fetched to be compared")
	}
	other := store.Record{Name: large.Name, Fence: 1, Payload: noisy(4, 40<<10)}
	if err := s.Put(ctx, key, other); !errors.Is(err, store.ErrConflict) {
		t.Errorf("other bytes under the same fence: %v, want ErrConflict", err)
	}

	without := dynamo.New(c, dynamo.Options{Table: table})
	if _, _, err := without.Get(ctx, key, large.Name); core.CodeOf(err) != core.CodeInternal || !strings.Contains(err.Error(), "no bucket is configured") {
		t.Errorf("read without a bucket: %v", err)
	}
	for name, lie := range map[string]func([]byte, bool) ([]byte, bool){
		"is missing":      func([]byte, bool) ([]byte, bool) { return nil, false },
		"differs":         func(content []byte, ok bool) ([]byte, bool) { content[7]++; return content, ok },
		"has 32768 bytes": func(content []byte, ok bool) ([]byte, bool) { return content[1:], ok },
	} {
		objects.lie = lie
		if _, _, err := s.Get(ctx, key, large.Name); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("an object that %s: %v", name, err)
		}
	}
}

// TestObjectsAreErasedWithTheirThread: those too that no item ever named, and again
// after a worker that was paused has put one.
func TestObjectsAreErasedWithTheirThread(t *testing.T) {
	ctx := t.Context()
	objects := &faulty{Bucket: bucket(t)}
	c, table := client(t)
	s := dynamo.New(c, dynamo.Options{Table: table, Objects: objects})
	key, next := core.ThreadKey{Tenant: "acme", Thread: "t"}, core.ThreadKey{Tenant: "acme", Thread: "t2"}
	large := func(seed byte) store.Record {
		return store.Record{Name: store.LogName(1), Fence: 2, Payload: noisy(seed, 40<<10)}
	}
	for _, key := range []core.ThreadKey{key, next} {
		if err := s.Put(ctx, key, large(1)); err != nil {
			t.Fatal(err)
		}
	}
	late := large(2)
	late.Fence = 1
	if err := s.Put(ctx, key, late); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("put under an older fence: %v", err)
	}
	exists := func(key core.ThreadKey, r store.Record) bool {
		sum := sha256.Sum256(r.Payload)
		_, ok, err := objects.Bucket.Get(ctx, key.Tenant+"/"+key.Thread+"/0000000000000000/"+hex.EncodeToString(sum[:]), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !exists(key, late) {
		t.Fatal("a refused record has left no object: this test tests nothing")
	}
	erase := func() {
		for n := 1; n > 0; {
			var err error
			if n, err = s.Erase(ctx, key, 10); err != nil {
				t.Fatal(err)
			}
		}
	}
	erase()
	if exists(key, large(1)) || exists(key, late) {
		t.Error("objects are left of an erased thread")
	}
	if err := objects.Put(ctx, "acme/t/0000000000000000/late", []byte("x")); err != nil {
		t.Fatal(err)
	}
	erase()
	if _, ok, err := objects.Bucket.Get(ctx, "acme/t/0000000000000000/late", 1<<20); ok || err != nil {
		t.Errorf("an object that came after the first erase is left: %v, %v", ok, err)
	}
	if !exists(next, large(1)) {
		t.Error("another thread lost its object")
	}
	if got, ok, err := s.Get(ctx, next, store.LogName(1)); err != nil || !ok || len(got.Payload) != 40<<10 {
		t.Errorf("another thread's record: %v, %v", ok, err)
	}
}
