// Package dynamo is the store on Amazon DynamoDB: [store.Backend] on two tables. README.md
// has the costs of operations, and describes payloads, for operators.
//
// A thread is one partition, T#<tenant>#<thread>: the HEAD is the item H, and a record is
// the item of its name. Pointers have separate partitions, N#<tenant>#<name>. The tenant
// comes first, so that an IAM policy on dynamodb:LeadingKeys can separate tenants. Threads
// that are due have an entry in the sparse index "due", those whose run waits for a
// decision in "waiting", and records that list threads and runs in "listed", with their
// payloads.
//
// The usage of runs has separate partitions: the record of a stretch is the item
// U#<run>#<stretch> of U#<tenant>#<hour>, the sum of an hour the item <hour> of
// V#<tenant>, and the mark of an hour without its final sum the item <tenant>#<hour> of
// W#<shard>. A process marks an hour once during the hour, and after every record once the
// hour has passed.
//
// The counters of a tenant with limits are the item B of B#<tenant>, the only item that is
// changed by updates: counters of a day, whose place is in their names, and maps of the
// tenant's slots. It is in "listed" while it has slots.
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
//	q       when a damaged HEAD was quarantined, unix milliseconds; it then has l and m, and neither g, d, w nor o
//	p, z    a payload; z is there when it is zstd-compressed
//	b, n    name and size of the object that is the payload, in place of p
//	f       fence under which a record was written
//	s       version of the head that a rewritable record belongs to
//	r       revision of a profile, of a sum of usage or of the mark of its hour
//	x       unix seconds after which the item counts as deleted (the table's TTL)
//
// # Reads
//
// Heads, records and logs are read strongly consistent. A cold step reads the log eventually
// consistent instead, for half of the units: see [Store.LogBackwardsEventually]. Such a read
// may lack a record or return an earlier version of it. The head and each turn have a checksum
// of the records before, and the runtime reads again strongly what does not match.
//
// # Writes
//
// Every write is one conditional PutItem that asks for the stored item when its
// condition fails, so that a loser needs no second read and no read units. The
// conditions are those of [store.Record.Admit]; on a refusal Admit itself decides
// about the returned item.
//
// A Commit is not a transaction, which would cost twice the units: its pointers are
// written concurrently, then its records with the one of usage, then the head, in at most
// three round trips, or four if the record's hour is to be marked. If it ends early, its
// pointers and records stay, and no head covers them.
//
// The SDK makes up to three attempts of a call (see awsenv.Config). An attempt that timed
// out may have been applied, and the next one then fails on our own item: the
// stored bytes are compared, and equal ones are a success. (As the contract requires, a
// head that an earlier call has written is refused and returned.) If no attempt got a
// response, the error has [core.CodeUnavailable] and the outcome is unknown: the caller
// reads the HEAD and compares commit ids. [store.ErrThrottled] is returned only if each
// attempt was refused.
//
// The revision of a profile is random, so that a writer that finds its own revision after
// an attempt without a response knows that the attempt was applied. If it finds another
// revision, the outcome is unknown.
//
// # Reads
//
// The log is read in pages of 1 MB, forwards and backwards. A reader that may stop early
// requests a small range, since the rest of a page is paid for too.
//
// # Limits
//
// A payload may have 350 KB after compression; a larger one is
// [store.ErrTooLarge] before anything is sent. With a bucket ([Options.Objects]) the
// payload of a record may have 16 MB.
//
// # Objects
//
// With a bucket, the payload of a record that is over 32 KB after compression is an
// object, <tenant>/<thread>/<incarnation>/<sha256 of the stored bytes>, and the item names
// it. No two threads share one. The object is put first: a stored record has its payload.
// A refused record leaves an object that no item names. Equal bytes are recognized by
// their hash; other bytes are fetched and compared. A record that is put alone, and
// overflows, costs a read of the head, for the incarnation.
//
// A reader fetches the objects of a page concurrently, at most 16 and 8 MB (or one)
// at a time, and checks length and hash: a missing or different one is
// [store.ErrCorrupt], unless its item was deleted too. Erase, when it finds no record any
// more, erases all objects under the thread's name, and the sweep calls it for as long as a
// paused worker might put another. Nothing else deletes an object: one whose record was
// replaced or has expired stays until its thread is erased.
//
// Pointers, profiles, snapshots and the payloads of lists are never objects.
//
// Expired items are invisible to every reader immediately, although DynamoDB removes
// them hours later, and a create-only record or a pointer may replace an expired one.
package dynamo
