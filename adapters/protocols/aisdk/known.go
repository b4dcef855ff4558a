package aisdk

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// unknown drops from several new messages those that the thread has: a client
// whose first response never began sends that message again with the next one.
//
// The request may itself be a repetition. Then the messages that its first try
// stored, which are those of the last one's run, stay, so that its content is
// the same again.
func (h *handler) unknown(ctx context.Context, id core.Identity, thread string, input []core.Message) ([]core.Message, error) {
	if len(input) < 2 {
		return input, nil
	}
	runs, err := h.InputRuns(ctx, id, thread)
	if err != nil {
		return nil, err
	}
	last, repeated := runs[input[len(input)-1].ID]
	return slices.DeleteFunc(input, func(m core.Message) bool {
		run, known := runs[m.ID]
		return known && !(repeated && run == last)
	}), nil
}
