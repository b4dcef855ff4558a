package aisdk

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/runtime"
)

// tail is how many of a thread's newest messages are searched for ones that the
// client sends again.
const tail = 200

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
	runs, err := h.runsOfMessages(ctx, id, thread)
	if err != nil {
		return nil, err
	}
	last, repeated := runs[input[len(input)-1].ID]
	return slices.DeleteFunc(input, func(m core.Message) bool {
		run, known := runs[m.ID]
		return known && !(repeated && run == last)
	}), nil
}

// runsOfMessages returns the run that stored each of the thread's newest user
// messages; a thread that does not exist has none.
func (h *handler) runsOfMessages(ctx context.Context, id core.Identity, thread string) (map[string]core.ID, error) {
	page, err := h.Runtime.Messages(ctx, id, thread, runtime.MessageQuery{Newest: true, Limit: tail})
	switch core.CodeOf(err) {
	case "":
	case core.CodeNotFound:
		return nil, nil
	default:
		return nil, hide(err)
	}
	runs := map[string]core.ID{}
	for _, m := range page.Messages {
		if m.IsInput() {
			runs[m.ID] = m.RunID
		}
	}
	return runs, nil
}
