package thread_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

func TestCreatedThreadHasNothing(t *testing.T) {
	id := core.ID{0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x00, 0x7a, 0xbc, 0xff} // 1,700,000,000,000 ms
	h, result, err := thread.Apply(thread.Head{}, thread.Transition{Now: 5, CommitID: id, Change: thread.Create{Owner: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	if h.Version != 1 || h.Owner != "ann" || h.Seq != 0 || h.Busy(5) || h.DueAt != 0 || result.Hint != nil {
		t.Errorf("the head is %+v with the hint %v, want version 1 of ann's and nothing else", h, result.Hint)
	}
	if got := h.Created(); got != 1_700_000_000_000 {
		t.Errorf("Created() is %d, want 1700000000000", got)
	}
	encoded, err := thread.Decode(h.AppendBinary(nil))
	if err != nil || encoded.Created() != 1_700_000_000_000 {
		t.Errorf("read back it was created at %d, %v, want 1700000000000", encoded.Created(), err)
	}
}

func TestCreateRefuses(t *testing.T) {
	there := thread.Head{Version: 1}
	tests := []struct {
		name   string
		head   thread.Head
		change thread.Create
		want   error
		code   core.Code
	}{
		{"a thread that exists", there, thread.Create{}, thread.ErrExists, core.CodeConflict},
		{"a deleted one", thread.Head{Version: 2, Deleted: true}, thread.Create{}, thread.ErrDeleted, core.CodeDeleted},
		{"a long owner", thread.Head{}, thread.Create{Owner: strings.Repeat("o", 129)}, nil, core.CodeInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := thread.Apply(tt.head, thread.Transition{CommitID: core.ID{1}, Change: tt.change})
			if core.CodeOf(err) != tt.code || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("Apply returns %v of code %s, want %v of code %s", err, core.CodeOf(err), tt.want, tt.code)
			}
		})
	}
}
