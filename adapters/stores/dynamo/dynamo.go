package dynamo

import (
	"cmp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reveille-run/reveille/core/store"
)

// Options configures a Store. The zero value works.
type Options struct {
	Table       string           // of threads; default "threads"
	ConfigTable string           // of profiles and configuration snapshots; default "config"
	Now         func() time.Time // decides what has expired; default time.Now
	// Objects is the bucket for payloads of records over 32 KB after compression. Nil: no
	// bucket, and payloads over 350 KB are refused.
	Objects Objects
}

// Store implements [store.Backend] on DynamoDB. It is safe for concurrent use.
type Store struct {
	threads  table
	config   table
	objects  Objects // nil: none
	now      func() time.Time
	revision func() uint64 // of the next profile, total or mark that is written
	marked   marked
}

var (
	_ store.Backend     = (*Store)(nil)
	_ store.EventualLog = (*Store)(nil)
)

// New returns a store on tables as template.yaml deploys them; for the tests of a
// program on it package tables makes them. A worker needs both: a run stores its agent in
// the second one.
func New(client *dynamodb.Client, o Options) *Store {
	s := &Store{
		threads: table{client, aws.String(cmp.Or(o.Table, "threads"))},
		config:  table{client, aws.String(cmp.Or(o.ConfigTable, "config"))},
		objects: o.Objects, now: o.Now, revision: newRevision,
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// DuePolicy implements [store.Backend]: a grace of two minutes, rounded up to the minute,
// so that quick transitions do not pay for an index write.
func (s *Store) DuePolicy() store.DuePolicy {
	return store.DuePolicy{Grace: (2 * time.Minute).Milliseconds(), Round: time.Minute.Milliseconds()}
}
