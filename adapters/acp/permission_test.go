package acp_test

import (
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

func TestAlwaysIsRememberedForTheThread(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer sdk.PermissionOptionKind
		asks   int // how often, for three calls in one session
		runs   int // of the three
	}{
		{"allow once", sdk.PermissionOptionKindAllowOnce, 3, 3},
		{"allow always", sdk.PermissionOptionKindAllowAlways, 1, 3},
		{"reject once", sdk.PermissionOptionKindRejectOnce, 3, 0},
		{"reject always", sdk.PermissionOptionKindRejectAlways, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			e := w.editor("")
			session := e.session()
			for _, text := range []string{"one", "two", "one"} {
				e.answers = make(chan sdk.PermissionOptionKind, 1)
				e.answers <- test.answer
				reason, answer := e.says(session, "approve: "+text)
				want := "Done: " + text
				if test.runs == 0 {
					want = "The call of danger was denied."
				}
				if reason != sdk.StopReasonEndTurn || answer != want {
					t.Errorf("%s, %q, want end_turn, %q", reason, answer, want)
				}
			}
			if got := e.questions(); got != test.asks {
				t.Errorf("asked %d times, want %d", got, test.asks)
			}
			if got := len(w.ran); got != test.runs {
				t.Errorf("the tool ran %d times, want %d", got, test.runs)
			}
			before := e.questions()
			e.answers = make(chan sdk.PermissionOptionKind, 1)
			e.answers <- sdk.PermissionOptionKindRejectOnce
			e.says(e.session(), "approve: one")
			if got := e.questions() - before; got != 1 {
				t.Errorf("another session asked %d times, want 1", got)
			}
		})
	}
}
