package mailboxtest

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Log returns the messages of a thread's log up to a sequence, oldest first, superseded ones
// included. Errors are those of the store, and core.CodeCorrupt for a record that no program
// wrote.
func Log(ctx context.Context, backend store.Backend, key core.ThreadKey, seq uint64) (messages []core.Message, err error) {
	for record, err := range backend.Log(ctx, key, 1, seq) {
		if err != nil {
			return nil, err
		}
		entry, err := thread.Records{}.DecodeEntry(record.Payload)
		if err != nil {
			return nil, err
		}
		if entry.Message != nil {
			messages = append(messages, *entry.Message)
		}
	}
	return messages, nil
}
