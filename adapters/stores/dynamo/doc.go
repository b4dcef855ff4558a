// Package dynamo is the store on Amazon DynamoDB: [store.Backend] on two tables.
//
// Everything of a thread is one partition, T#<tenant>#<thread>: the HEAD is the
// item H, a record is the item of its name. Pointers have partitions of their
// own, N#<tenant>#<name>. The tenant comes first, so that an IAM policy on
// dynamodb:LeadingKeys can fence tenants. Threads that are due have an entry in
// the sparse index "due", those whose run waits for a decision in "waiting", and records
// that list threads and runs in "listed", with their payloads.
//
// What runs have used lies beside the threads, in partitions of its own: the record of a
// stretch is the item U#<run>#<stretch> of U#<tenant>#<hour>, the sum of an hour the item
// <hour> of V#<tenant>, and the mark of an hour that is to be summed the item
// <tenant>#<hour> of W#<shard>. A process marks an hour once while it lasts, and behind
// every record once it has passed.
//
// What is counted of a tenant that has limits is the item B of B#<tenant>, which alone is
// changed by updates: counters of a day, which has its place in their names, and maps of
// the tenant's slots. It is in "listed" while it has slots.
//
// Profiles and configuration snapshots are in the other table: a profile is the
// item K#<key> of the partition P#<tenant>#<namespace>, a snapshot the item G of
// G#<hash>. template.yaml deploys both tables.
//
// # Attributes
//
// Names are short because they are billed with every item.
//
//	pk, sk  partition and sort key
//	h, v    the encoded HEAD and its version
//	g, d    shard and time of the due index; only while DueAt is set
//	w, o    tenant, and time and thread, of the waiting index; only while the head has a Run.WaitsSince
//	l, m    tenant and list, and place in it, of the listed index; only of a record that is listed
//	p, z    a payload; z is there when it is zstd-compressed
//	b, n    name and size of the object that is the payload, in place of p
//	f       fence under which a record was written
//	s       version of the head that a rewritable record goes with
//	r       revision of a profile, of a sum of usage or of the mark of its hour
//	x       unix seconds after which the item counts as gone (the table's TTL)
//
// # Writes
//
// Every write is one conditional PutItem that asks for the stored item when its
// condition fails, so that a loser needs no second read and no read units. The
// conditions say what [store.Record.Admit] says; on a refusal Admit itself decides
// about the item that came back.
//
// A Commit is no transaction, which would cost twice the units: its pointers go
// side by side, then its records with the one of usage, then the head, in at most three
// round trips, or four where the record's hour is to be marked.
// Whatever ends it on the way leaves pointers and records that no head covers.
//
// The SDK tries a call up to three times (see awsenv.Config). A try that timed out
// may have been applied, and the next one then fails on our own item: the
// stored bytes are compared, and equal ones are a success. (A head that an
// earlier call has written is refused and comes back, as the contract says.)
// When no try got a response the error has [core.CodeUnavailable] and the outcome
// is unknown: the caller reads the HEAD and compares commit ids.
// [store.ErrThrottled] is returned only when every try was refused.
//
// The revision of a profile is drawn, so that a writer which meets its own after a
// try without a response knows that it was applied. When it meets another's then,
// the outcome is unknown.
//
// # Reads
//
// The log is read in pages of 1 MB, forwards and backwards. Who may leave early
// asks for a small range, since what lies behind it in the page is paid for.
//
// # Limits
//
// A payload may have 350 KB after compression; a larger one is
// [store.ErrTooLarge] before anything is sent. Where there is a bucket
// ([Options.Objects]) the payload of a record may have 16 MB.
//
// # Objects
//
// Where there is a bucket, the payload of a record that is over 32 KB after compression
// is an object, <tenant>/<thread>/<incarnation>/<sha256 of what is stored>, and the item
// names it. No two threads share one. The object is put first: a record that is there has
// its payload. A refused record leaves an object that nothing names. Equal bytes are known
// by their hash; other bytes are fetched to be compared. A record that is put alone, and
// overflows, costs a read of the head, for the incarnation.
//
// Whoever reads fetches the objects of a page side by side, at most 16 and 8 MB (or one)
// at a time, and checks length and hash: one that is missing or other is
// [store.ErrCorrupt], unless its item is gone too. Erase, when it finds no record any more,
// erases all that lies under the thread's name, and the sweep calls it for as long as a
// paused worker might put another. Nothing else deletes an object: one whose record was
// replaced or has expired stays until its thread is erased.
//
// Pointers, profiles, snapshots and what lists show are never objects.
//
// Expired items are gone for every reader at once, although DynamoDB removes
// them hours later, and a create-only record or a pointer may take the place of
// an expired one.
package dynamo
