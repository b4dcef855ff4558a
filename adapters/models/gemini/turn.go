package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// turn makes deltas of the chunks of one stream. It implements wire.Turn.
type turn struct {
	deltas  []model.Delta // of the last chunk
	calls   int
	usage   core.Usage
	finish  string // the last finish reason
	message string // what came with it
}

// Add implements wire.Turn. The protocol has no last event: usage may follow the finish
// reason, so that the stream is read until the server ends it.
func (t *turn) Add(e wire.Event) (deltas []model.Delta, last bool, err error) {
	var c chunk
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return nil, false, t.unread(e.Data, err)
	}
	t.deltas = t.deltas[:0]
	if len(c.Error) > 0 && !bytes.Equal(c.Error, []byte("null")) || e.Name == "error" {
		f, _ := parseFailure(0, e.Data)
		return nil, false, f
	}
	for i := range c.Candidates {
		if c.Candidates[i].Index == 0 && err == nil { // one was asked for
			err = t.addCandidate(&c.Candidates[i])
		}
	}
	if c.Usage != nil {
		t.addUsage(c.Usage)
	}
	if reason := c.PromptFeedback.BlockReason; reason != "" && err == nil {
		err = wire.Failure{Kind: model.KindFiltered, Message: withReason("the prompt was blocked: "+reason, c.PromptFeedback.BlockReasonMessage)}
	}
	return t.deltas, false, err
}

// unread is the error of a malformed chunk: a list of one error, which some servers send
// instead of events, or the rest of a broken stream.
func (t *turn) unread(data []byte, err error) error {
	if f, found := parseFailure(0, data); found {
		return f
	}
	return fmt.Errorf("read a chunk: %w", err)
}

func (t *turn) addCandidate(c *candidate) error {
	for i := range c.Content.Parts {
		if err := t.addPart(&c.Content.Parts[i]); err != nil {
			return err
		}
	}
	t.cite(&c.Grounding.Value, &c.Citations.Value)
	if c.FinishReason != "" && c.FinishReason != "FINISH_REASON_UNSPECIFIED" {
		t.finish, t.message = c.FinishReason, c.FinishMessage
	}
	return nil
}

// addPart processes one part. A part that is neither text nor a call, such as one of the
// provider's own tools, has no delta.
func (t *turn) addPart(p *part) error {
	switch {
	case p.FunctionCall != nil:
		return t.addCall(p.FunctionCall, p.ThoughtSignature)
	case p.Text == nil:
		return nil
	}
	text, sign := *p.Text, p.ThoughtSignature
	if t.calls > 0 || wire.HasHalf(text) {
		// The turn's signature is on its first call, and blocks after calls would move them.
		// That of a part which begins or ends within a character cannot go back with it.
		sign = ""
	}
	if p.Thought {
		if text != "" || sign != "" {
			t.deltas = append(t.deltas, model.Delta{Type: model.DeltaReasoning, Text: text, Echo: echoOf(sign, onThought, len(text))})
		}
		return nil
	}
	if text != "" {
		t.deltas = append(t.deltas, model.Delta{Type: model.DeltaText, Text: text})
	}
	if sign != "" {
		t.deltas = append(t.deltas, model.Delta{Type: model.DeltaReasoning, Echo: echoOf(sign, onText, len(text))})
	}
	return nil
}

// addCall takes a call, which comes whole.
func (t *turn) addCall(c *functionCall, signature string) error {
	if c.WillContinue || len(c.PartialArgs) > 0 {
		return wire.Failure{Kind: model.KindInvalid, Message: "the arguments of a call come in pieces, which was not asked for"}
	}
	if c.Name == "" {
		return fmt.Errorf("tool call %d has no name", t.calls)
	}
	arguments := "{}"
	if wire.IsObject(c.Args) {
		arguments = string(c.Args)
	} else if len(c.Args) > 0 && string(c.Args) != "null" {
		return fmt.Errorf("the arguments of tool call %d are not an object", t.calls)
	}
	t.deltas = append(t.deltas,
		model.Delta{Type: model.DeltaToolStart, Index: t.calls, CallID: c.ID, Name: c.Name, Echo: echoOf(signature, "", 0)},
		model.Delta{Type: model.DeltaToolArgument, Index: t.calls, Text: arguments})
	t.calls++
	return nil
}

// addUsage takes the counts so far. Each chunk has them, most of them again; some name
// the kind of traffic alone.
func (t *turn) addUsage(u *usageMetadata) {
	usage := core.Usage{
		Input:     u.Prompt + u.ToolPrompt,
		Output:    u.Candidates + u.Thoughts, // the candidates' count leaves the thoughts out
		CacheRead: u.Cached,
		Reasoning: u.Thoughts,
	}
	if usage != t.usage && usage != (core.Usage{}) {
		t.usage = usage
		t.deltas = append(t.deltas, model.Delta{Type: model.DeltaUsage, Usage: usage})
	}
}

// Finished implements wire.Turn: the finish reason is the protocol's end.
func (t *turn) Finished() bool { return t.finish != "" }

// Stop implements wire.Turn. The reason is STOP for calls too: what came decides.
func (t *turn) Stop() (core.StopReason, error) {
	switch t.finish {
	case "STOP", "FUNCTION_CALL": // the second: servers that imitate the API
		if t.calls > 0 {
			return core.StopToolUse, nil
		}
		return core.StopEndTurn, nil
	case "MAX_TOKENS":
		return core.StopMaxTokens, nil
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return core.StopContentFilter, nil
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE":
		// The model has written a call that cannot be read. Nothing of it came, so that no
		// turn can be made of it; asked again, it most often writes another.
		return "", wire.Failure{Kind: model.KindInterrupted, Message: withReason("the model's call could not be read: finish reason "+t.finish, t.message)}
	case "MISSING_THOUGHT_SIGNATURE":
		return "", wire.Failure{Kind: model.KindInvalid, Message: withReason("finish reason "+t.finish, t.message)}
	}
	return core.StopOther, nil
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}
