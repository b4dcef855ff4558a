package bedrock

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// opening is the first message of a request whose conversation begins with the
// model's own: the API wants a person's first.
const opening = "[The conversation begins earlier.]"

// conversation makes messages of ours into the API's, in which the roles alternate.
type conversation struct {
	request *model.Request
	model   string
	origin  string
	echoes  bool           // the model's own reasoning goes back to it
	context []string       // system texts from before the conversation
	turns   []turnSaid     // in order, roles alternating
	ids     []wire.IDs     // of each message
	calls   []string       // names that were called, each once
	names   map[string]int // names of documents that are taken, and how often

	files []types.ContentBlock // of the failed calls of the last turn: they follow all its results
}

// turnSaid is one message on the wire.
type turnSaid struct {
	role   types.ConversationRole
	blocks []types.ContentBlock
	stable int // blocks that the next request begins with, too

	person  bool // of the user's side: not only results and plugins' context
	foreign bool // of the model's side: another model said it, or a part of it
}

// converse reads the messages of a request.
func converse(request model.Request) (*conversation, error) {
	ids, err := wire.CallIDs(name, request.Messages)
	if err != nil {
		return nil, err
	}
	c := &conversation{request: &request, model: request.Model, origin: request.Origin, ids: ids, names: make(map[string]int)}
	c.echoes = !kinOf(request.Model).bound()
	for n, m := range request.Messages {
		if err := c.add(n, m); err != nil {
			return nil, err
		}
	}
	c.follow()
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
	if m.Role != core.RoleTool {
		c.follow()
	}
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
		blocks, err := c.content(m.Content)
		if err != nil {
			return err
		}
		if c.say(types.ConversationRoleUser, true, blocks...) {
			c.turns[len(c.turns)-1].person = true
		}
	case core.RoleAssistant:
		blocks := c.turn(m, c.ids[n].Calls)
		if c.say(types.ConversationRoleAssistant, true, blocks...) && m.Model != c.model && !isReasoning(blocks[0]) {
			c.turns[len(c.turns)-1].foreign = true
		}
	case core.RoleTool:
		return c.addResult(m.ToolResult, c.ids[n].Result)
	default:
		return invalid("message %q has the role %q", core.Excerpt(m.ID), core.Excerpt(string(m.Role)))
	}
	return nil
}

// follow adds the files of failed calls.
func (c *conversation) follow() {
	c.say(types.ConversationRoleUser, true, c.files...)
	c.files = nil
}

// say appends blocks to the last message, or to a new one when the other side speaks, and
// reports whether there were any.
func (c *conversation) say(role types.ConversationRole, stable bool, blocks ...types.ContentBlock) bool {
	if len(blocks) == 0 {
		return false
	}
	if n := len(c.turns); n == 0 || c.turns[n-1].role != role {
		c.turns = append(c.turns, turnSaid{role: role})
	}
	last := &c.turns[len(c.turns)-1]
	last.blocks = append(last.blocks, blocks...)
	if stable {
		last.stable = len(last.blocks)
	}
	return true
}

// turn is what the model said: reasoning and text, then calls with their ids.
func (c *conversation) turn(m core.Message, ids []string) []types.ContentBlock {
	var blocks []types.ContentBlock
	for _, b := range m.Content {
		switch {
		case b.Type == core.BlockText && strings.TrimSpace(b.Text) != "":
			blocks = append(blocks, text(b.Text))
		case c.echoes && b.Type == core.BlockReasoning && b.Echo != nil && b.Origin == c.origin:
			if block, ok := reasoning(b); ok {
				blocks = append(blocks, block)
			}
		}
	}
	for i, call := range m.ToolCalls {
		called := wire.MadePlain(call.Name, maxToolName)
		if !slices.Contains(c.calls, called) {
			c.calls = append(c.calls, called)
		}
		blocks = append(blocks, &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
			ToolUseId: aws.String(ids[i]), Name: aws.String(called), Input: raw(wire.ArgumentObject(call.Arguments)),
		}})
	}
	return blocks
}

// loop is the tool loop that the model is in the middle of.
type loop struct {
	foreign   bool // another model has said a part of it
	unthought bool // it does not begin with the model's own reasoning
}

// loop goes back over turns with nothing but results and plugins' context between them.
func (c *conversation) loop() (l loop) {
	last := len(c.turns) - 1
	for i := last; i > 0 && hasResult(c.turns[i].blocks) && (i == last || !c.turns[i].person); i -= 2 {
		turn := c.turns[i-1]
		l.foreign = l.foreign || turn.foreign
		l.unthought = !isReasoning(turn.blocks[0])
	}
	return l
}

func hasResult(blocks []types.ContentBlock) bool {
	return slices.ContainsFunc(blocks, func(b types.ContentBlock) bool {
		_, ok := b.(*types.ContentBlockMemberToolResult)
		return ok
	})
}

func isReasoning(b types.ContentBlock) bool {
	_, ok := b.(*types.ContentBlockMemberReasoningContent)
	return ok
}

// addResult adds the result of the call with an id. A failed one has text alone, and its
// files follow it: models refuse others.
func (c *conversation) addResult(r *core.ToolResult, id string) error {
	content := wire.ResultContent(c.request, r, func(b core.Block) error {
		_, err := (&conversation{names: map[string]int{}}).file(b) // which takes no name of this request
		return err
	})
	said, files := wire.Split(content)
	block := types.ToolResultBlock{ToolUseId: aws.String(id)}
	if len(files) == 0 || r.IsError {
		if strings.TrimSpace(said) == "" {
			said = "(empty)" // the API refuses a blank text
		}
		block.Content = []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: said}}
	} else {
		blocks, err := c.content(content)
		if err != nil {
			return err
		}
		block.Content = inResult(blocks)
	}
	if r.IsError { // only some models take a status, so that success has none
		block.Status = types.ToolResultStatusError
	}
	c.say(types.ConversationRoleUser, true, &types.ContentBlockMemberToolResult{Value: block})
	if len(files) == 0 || !r.IsError {
		return nil
	}
	blocks, err := c.content(append([]core.Block{{Type: core.BlockText, Text: wire.FilesOf(r)}}, files...))
	c.files = append(c.files, blocks...)
	return err
}

// inResult returns blocks as the content of a result.
func inResult(blocks []types.ContentBlock) (content []types.ToolResultContentBlock) {
	for _, b := range blocks {
		switch b := b.(type) {
		case *types.ContentBlockMemberText:
			content = append(content, &types.ToolResultContentBlockMemberText{Value: b.Value})
		case *types.ContentBlockMemberImage:
			content = append(content, &types.ToolResultContentBlockMemberImage{Value: b.Value})
		case *types.ContentBlockMemberDocument:
			content = append(content, &types.ToolResultContentBlockMemberDocument{Value: b.Value})
		}
	}
	return content
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
