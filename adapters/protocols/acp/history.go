package acp

import (
	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// replay shows a thread's messages, oldest first, at the pace at which the client reads.
func (c *connection) replay(session string) error {
	h := history{encoder: encoder{kinds: c.Kinds}}
	for q := (host.MessageQuery{Limit: 200}); ; {
		page, err := c.Host.Messages(c.ctx, c.Identity, session, q)
		if core.CodeOf(err) == core.CodeNotFound {
			return nil // nothing was said yet
		}
		if err != nil {
			return err
		}
		for _, m := range page.Messages {
			for _, u := range h.message(m) {
				if err := c.update(session, u); err != nil {
					return err
				}
			}
			if err := c.out.ready(c.ctx); err != nil {
				return err
			}
		}
		if page.Next == 0 {
			return nil
		}
		q.After = page.Next
	}
}

// history turns stored messages into what a client was shown of them.
type history struct {
	encoder
}

// message is one message. Accepted input that no step has read is shown as well; what the
// runtime says to a model is not.
func (h *history) message(m core.Message) (updates []update) {
	if m.Repair {
		return nil
	}
	switch m.Role {
	case core.RoleUser:
		for _, b := range m.Content {
			updates = append(updates, said(userChunk, b.Text)...)
		}
	case core.RoleAssistant:
		for _, b := range m.Content {
			kind := agentChunk
			if b.Type == core.BlockReasoning {
				kind = thoughtChunk
			}
			updates = append(updates, said(kind, b.Text)...)
		}
		for i := range m.Content {
			updates = append(updates, sources(m.Content[i].Annotations)...)
		}
		for _, tool := range m.ToolCalls {
			updates = append(updates, update{
				Kind: toolCall, CallID: callID(m.RunID, m.Step, tool.ID), Title: tool.Name, Tool: h.kind(tool.Name),
				Status: sdk.ToolCallStatusPending, RawInput: tool.Arguments,
			})
		}
	case core.RoleTool:
		if r := m.ToolResult; r != nil {
			updates = append(updates, result(callID(m.RunID, m.Step, r.CallID), resultData(*r), r.Content, r.IsError))
		}
	}
	return updates
}

// resultData is a stored result as a stream shows it: a text becomes a string, an error
// an object.
func resultData(r core.ToolResult) []byte {
	data, said := r.Data, core.ToolResult{Data: r.Data, Message: r.Message}.Text()
	switch {
	case r.IsError:
		data, _ = core.EncodeJSON(map[string]string{"error": said}) // strings always encode
	case len(data) == 0 && (said != "" || len(r.Content) == 0):
		data, _ = core.EncodeJSON(said)
	}
	return protocol.Output(data, r.Content)
}
