package thread_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

func TestAForkIsAThreadThatIsIdle(t *testing.T) {
	fork := thread.Transition{CommitID: core.ID{1}, Change: thread.Fork{Owner: "ann", Seq: 7, Supersedes: 4, Summary: 7, Schema: 1}}
	head, result, err := thread.Apply(thread.Head{}, fork)
	if err != nil || result.Hint != nil {
		t.Fatalf("fork: %+v, %v", result, err)
	}
	want := thread.Head{Layout: 1, Schema: 1, Version: 1, CommitID: core.ID{1}, Incarnation: 72057594037927936, Owner: "ann", Fence: 1, Seq: 7, Summary: 7, Supersedes: 4}
	if diff := cmp.Diff(want, head); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
	if _, _, err := thread.Apply(head, fork); !errors.Is(err, thread.ErrExists) {
		t.Errorf("fork of a thread that exists: %v", err)
	}
	next, _, err := thread.Apply(head, thread.Transition{CommitID: core.ID{2}, Change: thread.EnqueueAndClaim{
		Enqueue: thread.Enqueue{Dispatch: core.ID{3}, Run: core.ID{4}, Owner: "ann"}, Worker: "w", Lease: 1000}})
	if err != nil || next.Claim.Fence != 2 {
		t.Errorf("the first claim has fence %d, %v; want 2, above that of the records", next.Claim.Fence, err)
	}
}

func TestAForkOfNothingIsRefused(t *testing.T) {
	tests := []struct {
		name string
		fork thread.Fork
		want core.Code
	}{
		{"no record", thread.Fork{}, core.CodeInvalid},
		{"more than a log can have", thread.Fork{Seq: thread.MaxSeq + 1}, core.CodeInvalid},
		{"a last record that supersedes", thread.Fork{Seq: 4, Supersedes: 4}, core.CodeInvalid},
		{"a summary of more than it has", thread.Fork{Seq: 4, Summary: 5}, core.CodeInvalid},
		{"a long owner", thread.Fork{Seq: 4, Owner: strings.Repeat("o", 129)}, core.CodeInvalid},
		{"records of a newer program", thread.Fork{Seq: 4, Schema: 3}, core.CodeSchema},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			head, _, err := thread.Apply(thread.Head{}, thread.Transition{CommitID: core.ID{1}, Change: tt.fork})
			if core.CodeOf(err) != tt.want || head.Exists() {
				t.Errorf("fork: %v, version %d; want %s", err, head.Version, tt.want)
			}
		})
	}
}
