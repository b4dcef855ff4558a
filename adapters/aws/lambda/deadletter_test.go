package lambda

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

func TestDeadLetterKeepsOnlyWhatCouldNotBeLookedAt(t *testing.T) {
	handle := Handlers{Logger: quiet}.DeadLetters(func(_ context.Context, w core.WakeUp) (bool, error) {
		switch w.Thread {
		case "unfinished":
			return true, nil
		case "finished":
			return false, nil
		case "panic":
			panic("bug")
		}
		return false, errors.New("throttled")
	})
	response, err := handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
		message("m1", "unfinished", 6),
		message("m2", "unreadable", 1),
		message("m3", "finished", 1),
		message("m4", "panic", 1),
		{MessageId: "m5", Body: "garbage"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m2", "m4"}, failures(response)); diff != "" {
		t.Error(diff)
	}
}
