package store

import "github.com/reveille-run/reveille/core/internal/thread"

// Head is the state of a thread: its runs, claims, queues and tickets. A backend stores the
// bytes that its AppendBinary method appends, and reads them with UnmarshalBinary, whose
// error has code core.CodeSchema if a newer program has encoded the head. It uses only
// these fields: Version, the condition of a write; DueAt, when the thread is to be woken,
// for [Backend.Overdue]; Seq, the last record of its log; Deleted and Owner. Its zero value
// is a thread that does not exist.
type Head = thread.Head

// DuePolicy is the precision with which a backend's index has the time at which a thread is
// due, in milliseconds: Grace is how far it may be off, and Round is the unit to which it
// is rounded up. The zero value is exact.
type DuePolicy = thread.DuePolicy

// Schemas are the schemas of records that a program reads and writes: the numbers Reads, the
// highest, and Writes. Zero fields are those of this release, which its method Resolved
// returns.
type Schemas = thread.Schemas
