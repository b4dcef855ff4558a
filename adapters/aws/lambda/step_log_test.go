package lambda

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/core"
)

// An error wants somebody's look; a host that stops in mid-step does not.
func TestStepLogsByWhatItMeans(t *testing.T) {
	tests := []struct {
		name string
		stop bool
		want string
	}{
		{"a step that failed", false, "level=ERROR msg=\"step failed\""},
		{"a step of a host that stops", true, "level=WARN msg=\"step failed\""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			worker := workFunc(func(context.Context, core.WakeUp) error {
				if test.stop {
					cancel()
				}
				return errors.New("not done")
			})
			handler := Handlers{Logger: slog.New(slog.NewTextHandler(&log, nil))}.Step(worker.WorkBatch)
			if _, err := handler(ctx, events.SQSEvent{Records: []events.SQSMessage{message("m1", "t1", 1)}}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), test.want) {
				t.Errorf("want %s in\n%s", test.want, log.String())
			}
		})
	}
}
