package bedrock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// opening is the first message of a request whose conversation begins with the
// model's own: the API wants a person's first.
const opening = "[The conversation begins earlier.]"

// conversation makes messages of ours into the API's, in which the roles alternate.
type conversation struct {
	origin  string
	context []string          // system texts from before the conversation
	turns   []turnSaid        // in order, roles alternating
	ids     map[string]string // our call ids -> those on the wire, of the newest turn with calls
	calls   []string          // names that were called, each once
	names   map[string]int    // names of documents that are taken, and how often
	foreign bool              // the open tool loop has a turn whose thinking is missing
}

// turnSaid is one message on the wire.
type turnSaid struct {
	role   types.ConversationRole
	blocks []types.ContentBlock
	stable int // blocks that the next request begins with, too
}

// converse reads the messages of a request.
func converse(request model.Request) (*conversation, error) {
	c := &conversation{origin: request.Origin, names: make(map[string]int)}
	for n, m := range request.Messages {
		if err := c.add(n, m); err != nil {
			return nil, err
		}
	}
	if len(c.turns) > 0 && c.turns[0].role == types.ConversationRoleAssistant {
		first := turnSaid{role: types.ConversationRoleUser, blocks: []types.ContentBlock{text(opening)}, stable: 1}
		c.turns = slices.Insert(c.turns, 0, first)
	}
	if len(c.turns) == 0 {
		return nil, invalid("the request has no message with content")
	}
	return c, nil
}

// add takes the message at place n.
func (c *conversation) add(n int, m core.Message) error {
	switch m.Role {
	case core.RoleSystem:
		if said := m.Text(); strings.TrimSpace(said) == "" {
			return nil
		} else if len(c.turns) == 0 {
			c.context = append(c.context, said)
		} else {
			c.say(types.ConversationRoleUser, false, text(said))
		}
	case core.RoleUser:
		c.foreign = false // a loop ends where a person speaks
		blocks, err := c.content(m.Content)
		if err != nil {
			return err
		}
		c.say(types.ConversationRoleUser, true, blocks...)
	case core.RoleAssistant:
		c.say(types.ConversationRoleAssistant, true, c.turn(n, m)...)
	case core.RoleTool:
		if m.ToolResult == nil {
			return invalid("tool message %q has no result", core.Excerpt(m.ID))
		}
		block, err := c.result(*m.ToolResult)
		if err != nil {
			return err
		}
		c.say(types.ConversationRoleUser, true, block)
	default:
		return invalid("message %q has the role %q", core.Excerpt(m.ID), core.Excerpt(string(m.Role)))
	}
	return nil
}

// say appends blocks to the last message, or to a new one when the other side speaks.
func (c *conversation) say(role types.ConversationRole, stable bool, blocks ...types.ContentBlock) {
	if len(blocks) == 0 {
		return
	}
	if n := len(c.turns); n == 0 || c.turns[n-1].role != role {
		c.turns = append(c.turns, turnSaid{role: role})
	}
	last := &c.turns[len(c.turns)-1]
	last.blocks = append(last.blocks, blocks...)
	if stable {
		last.stable = len(last.blocks)
	}
}

// turn is what the model said at place n: reasoning and text, then calls.
func (c *conversation) turn(n int, m core.Message) []types.ContentBlock {
	var blocks []types.ContentBlock
	thought := false
	for _, b := range m.Content {
		switch {
		case b.Type == core.BlockText && strings.TrimSpace(b.Text) != "":
			blocks = append(blocks, text(b.Text))
		case b.Type == core.BlockReasoning && b.Echo != nil && b.Origin == c.origin:
			if block, ok := reasoning(b); ok {
				blocks = append(blocks, block)
				thought = true
			}
		}
	}
	if len(m.ToolCalls) == 0 {
		return blocks
	}
	c.foreign = !thought
	c.ids = make(map[string]string, len(m.ToolCalls))
	for i, call := range m.ToolCalls {
		id := fmt.Sprintf("c%d_%d", n, i)
		c.ids[call.ID] = id
		if !slices.Contains(c.calls, call.Name) {
			c.calls = append(c.calls, call.Name)
		}
		blocks = append(blocks, &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
			ToolUseId: aws.String(id), Name: aws.String(call.Name), Input: raw(arguments(call.Arguments)),
		}})
	}
	return blocks
}

// result answers a call of the turn before it.
func (c *conversation) result(r core.ToolResult) (types.ContentBlock, error) {
	id, ok := c.ids[r.CallID]
	if !ok {
		return nil, invalid("the result of call %q follows no turn that made it", core.Excerpt(r.CallID))
	}
	said := r.Text()
	if strings.TrimSpace(said) == "" {
		said = "(empty)" // the API refuses a blank text
	}
	block := types.ToolResultBlock{
		ToolUseId: aws.String(id), Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: said}},
	}
	if r.IsError { // only some models take a status, so that success has none
		block.Status = types.ToolResultStatusError
	}
	return &types.ContentBlockMemberToolResult{Value: block}, nil
}

// arguments are what a call was made with, an object as the API wants it. Arguments
// that were no JSON are kept as a JSON string and go out under a name.
func arguments(given json.RawMessage) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(given, &object) == nil && object != nil {
		return given
	}
	var said string
	if len(given) == 0 || string(given) == "null" || json.Unmarshal(given, &said) == nil && said == "" {
		return []byte("{}")
	}
	return []byte(`{"no_object":` + string(given) + `}`)
}

// echo is what a reasoning block is sent back with: one of the two.
type echo struct {
	Signature string `json:"signature,omitempty"`
	Redacted  []byte `json:"redacted,omitempty"`
}

// reasoning is a block of the model that the request goes to.
func reasoning(b core.Block) (types.ContentBlock, bool) {
	var e echo
	if json.Unmarshal(b.Echo, &e) != nil {
		return nil, false
	}
	block := &types.ContentBlockMemberReasoningContent{}
	switch {
	case e.Redacted != nil:
		block.Value = &types.ReasoningContentBlockMemberRedactedContent{Value: e.Redacted}
	case e.Signature != "":
		block.Value = &types.ReasoningContentBlockMemberReasoningText{Value: types.ReasoningTextBlock{
			Text: aws.String(b.Text), Signature: aws.String(e.Signature),
		}}
	default:
		return nil, false
	}
	return block, true
}

func text(said string) types.ContentBlock { return &types.ContentBlockMemberText{Value: said} }
