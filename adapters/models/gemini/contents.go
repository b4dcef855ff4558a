package gemini

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// unsigned replaces the signature of a call that another model or a gate made: the
// provider documents it for histories that it did not write itself.
const unsigned = "skip_thought_signature_validator"

// leftOut is the first message of a conversation of which a model's turn is the first:
// the API takes no call there.
const leftOut = "(The beginning of the conversation is left out.)"

// conversation makes contents of messages: the roles user and model take turns, so that
// messages of one side that follow each other are one content.
type conversation struct {
	request  *model.Request
	origin   string
	signs    bool // calls need a signature
	contents []content
}

// encodeContents returns the contents of a request, none without messages.
func encodeContents(request model.Request) ([]content, error) {
	ids, err := wire.CallIDs(name, request.Messages)
	if err != nil {
		return nil, err
	}
	c := conversation{request: &request, origin: request.Origin, signs: generationOf(request.Model).signs()}
	for i, m := range request.Messages {
		switch m.Role {
		case core.RoleUser, core.RoleSystem: // plugins have no separate role here
			if err := c.addUser(m); err != nil {
				return nil, err
			}
		case core.RoleAssistant:
			c.addTurn(m, ids[i].Calls)
			results, err := c.resultsOf(m, ids[i].Calls, request.Messages[i+1:], ids[i+1:])
			if err != nil {
				return nil, err
			}
			c.add(roleUser, results...)
		case core.RoleTool: // it follows its call
		default:
			return nil, invalid(fmt.Sprintf("message %q has the role %q", core.Excerpt(m.ID), core.Excerpt(string(m.Role))))
		}
	}
	return c.contents, nil
}

// resultsOf returns the results of a turn's calls, in the order of the calls: the API
// requires as many results as calls, in the next content. Files that have no place in them
// follow. later are the messages after the turn.
func (c *conversation) resultsOf(turn core.Message, calls []string, later []core.Message, ids []wire.IDs) ([]part, error) {
	results, files := make([]part, len(calls)), make([][]part, len(calls))
	for i, m := range later {
		if m.Role == core.RoleAssistant {
			break
		}
		if k := slices.Index(calls, ids[i].Result); k >= 0 {
			var err error
			if results[k], files[k], err = c.encodeResult(m.ToolResult, calls[k]); err != nil {
				return nil, err
			}
		}
	}
	for k, result := range results {
		if result.FunctionResponse == nil {
			return nil, invalid(fmt.Sprintf("call %q of message %q has no result", core.Excerpt(turn.ToolCalls[k].ID), core.Excerpt(turn.ID)))
		}
	}
	return append(results, slices.Concat(files...)...), nil
}

// add adds parts to the content of a role.
func (c *conversation) add(role string, parts ...part) {
	if len(parts) == 0 {
		return
	}
	last := len(c.contents) - 1
	if last < 0 && role == roleModel {
		text := leftOut
		c.contents = append(c.contents, content{Role: roleUser, Parts: []part{{Text: &text}}})
		last++
	}
	if last < 0 || c.contents[last].Role != role {
		c.contents = append(c.contents, content{Role: role})
		last++
	}
	c.contents[last].Parts = append(c.contents[last].Parts, parts...)
}

func (c *conversation) addUser(m core.Message) error {
	for _, b := range m.Content {
		switch b.Type {
		case core.BlockText:
			if b.Text != "" { // no part may be empty
				c.add(roleUser, part{Text: &b.Text})
			}
		case core.BlockFile:
			p, err := encodeFile(b)
			if err != nil {
				return err
			}
			c.add(roleUser, p)
		}
	}
	return nil
}

// addTurn adds a turn: its text, then its calls. Reasoning is included only if it is
// signed for this model.
func (c *conversation) addTurn(m core.Message, ids []string) {
	var parts []part
	for _, b := range m.Content {
		switch b.Type {
		case core.BlockText:
			if b.Text != "" {
				parts = append(parts, part{Text: &b.Text})
			}
		case core.BlockReasoning:
			if e, ok := own(b.Echo, b.Origin, c.origin); ok {
				parts = addEcho(parts, b, e)
			}
		}
	}
	for i, call := range m.ToolCalls {
		p := part{FunctionCall: &functionCall{ID: ids[i], Name: functionName(call.Name), Args: wire.ArgumentObject(call.Arguments)}}
		if e, ok := own(call.Echo, call.Origin, c.origin); ok {
			p.ThoughtSignature = e.Signature
		} else if i == 0 && c.signs {
			// The API requires it only in the turn since the last user message. Older
			// turns have it, too, so that a new message does not change the cached bytes
			// before it.
			p.ThoughtSignature = unsigned
		}
		parts = append(parts, p)
	}
	c.add(roleModel, parts...)
}

// encodeResult is the result of a call under one of the two keys that the API knows. Models
// from Gemini 3 on take files within it; for others they follow the results.
func (c *conversation) encodeResult(r *core.ToolResult, id string) (result part, follow []part, err error) {
	content := wire.ResultContent(c.request, r, func(b core.Block) error {
		_, err := encodeFile(b)
		return err
	})
	text, files := wire.Split(content)
	said := r.Data
	if r.Message != "" || len(said) == 0 || len(r.Content) > 0 {
		said, _ = json.Marshal(text) // a text has always a form
	}
	outcome := functionOutcome{Output: said}
	if r.IsError {
		outcome = functionOutcome{Error: said}
	}
	response := &functionResponse{ID: id, Name: functionName(r.Name), Response: outcome}
	for _, b := range files {
		p, err := encodeFile(b)
		if err != nil {
			return part{}, nil, err
		}
		if c.signs && withinResult(p) {
			response.Parts = append(response.Parts, resultPart{InlineData: p.InlineData})
			continue
		}
		if follow == nil {
			label := wire.FilesOf(r)
			follow = []part{{Text: &label}}
		}
		follow = append(follow, p)
	}
	return part{FunctionResponse: response}, follow, nil
}

// withinResult reports whether a result may have the file: the API takes the bytes of some
// types.
func withinResult(p part) bool {
	return p.InlineData != nil && slices.Contains(resultTypes, p.InlineData.MIMEType)
}

var resultTypes = []string{"image/png", "image/jpeg", "image/webp", "application/pdf"}

// functionName is a tool's name as the API takes it. Names of agents are checked before
// (Check); a name that a model of another provider made up may have anything in it.
func functionName(text string) string {
	if validName(text) {
		return text
	}
	return wire.MadePlain("_"+text, maxName)
}
