package store

import "github.com/reveille-run/reveille/core/internal/thread"

// Head is how a thread stands: its runs, claims, queues and tickets. A backend stores what
// its AppendBinary method appends, reads it with UnmarshalBinary, whose error has code
// core.CodeSchema if a newer program has encoded the head, and looks at these fields alone:
// Version, the condition of a write; DueAt, when the thread is to be woken, for [Backend.Overdue]; Seq,
// the last record of its log; Deleted and Owner. Its zero value is a thread that does not
// exist.
type Head = thread.Head

// DuePolicy says how precisely a backend's index has the time at which a thread is due.
type DuePolicy = thread.DuePolicy

// Spent is what requests to a backend or a queue have cost, for a [Meter].
type Spent = thread.Spent

// Schemas are the schemas of records that a program reads and writes. Zero fields are those
// of this release, which its method Resolved returns.
type Schemas = thread.Schemas
