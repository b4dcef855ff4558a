package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

// sweepFunc is a Sweeper.
type sweepFunc func(ctx context.Context) (int, error)

func (f sweepFunc) Sweep(ctx context.Context) (int, error) { return f(ctx) }

// swept is the response of a sweep.
func swept(response any, err error) (sweepResult, error) {
	result, _ := response.(sweepResult)
	return result, err
}

func TestSweep(t *testing.T) {
	tests := []struct {
		name    string
		sweep   sweepFunc
		want    int
		wantErr string
	}{
		{"nothing overdue", func(context.Context) (int, error) { return 0, nil }, 0, ""},
		{"some woken", func(context.Context) (int, error) { return 7, nil }, 7, ""},
		{"a shard fails", func(context.Context) (int, error) { return 2, errors.New("shard 3: throttled") }, 2, "sweep: shard 3: throttled"},
		{"a panic", func(context.Context) (int, error) { panic("bug") }, 0, "sweep: panic: bug"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handle := Handlers{Logger: quiet}.Sweep(tt.sweep, nil, nil)
			got, err := swept(handle(t.Context(), readEvent[json.RawMessage](t, "schedule.json")))
			if got.Woken != tt.want {
				t.Errorf("woken = %d, want %d", got.Woken, tt.want)
			}
			if text := errorText(err); text != tt.wantErr {
				t.Errorf("error = %q, want %q", text, tt.wantErr)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
