package bedrock

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// turn makes deltas of the events of one stream.
type turn struct {
	deltas    []model.Delta   // of the last event
	calls     map[int32]int   // the API's block index -> the index of our deltas
	signature strings.Builder // of the open reasoning block
	redacted  []byte          // of it, too
	began     bool            // a delta was made
	stopped   bool            // messageStop came
	metered   bool            // so did the usage
	stop      core.StopReason

	said      wire.TurnText
	from      int // of the open block: its place in what was said
	citations []types.CitationsDelta
}

// patience is how long the next event may take.
func (t *turn) patience(idle time.Duration) time.Duration {
	switch {
	case t.metered:
		return min(idle, drainTime)
	case t.stopped:
		return min(idle, usageTime)
	}
	return idle
}

// add processes an event and returns its deltas, valid until the next call. An
// inconsistent event is an error: an incomplete turn must not be stored.
func (t *turn) add(event types.ConverseStreamOutput) ([]model.Delta, error) {
	t.deltas = t.deltas[:0]
	var err error
	switch e := event.(type) {
	case *types.ConverseStreamOutputMemberContentBlockStart:
		err = t.start(e.Value)
	case *types.ConverseStreamOutputMemberContentBlockDelta:
		err = t.piece(e.Value)
	case *types.ConverseStreamOutputMemberContentBlockStop:
		err = t.endBlock()
	case *types.ConverseStreamOutputMemberMessageStop:
		err = t.end(e.Value.StopReason)
	case *types.ConverseStreamOutputMemberMetadata:
		t.meter(e.Value.Usage)
	}
	t.began = t.began || len(t.deltas) > 0
	return t.deltas, err
}

// start begins a tool call; no other block has a start that says anything.
func (t *turn) start(e types.ContentBlockStartEvent) error {
	call, ok := e.Start.(*types.ContentBlockStartMemberToolUse)
	if !ok {
		return nil
	}
	if aws.ToString(call.Value.Name) == "" {
		return broken("a tool call has no name")
	}
	if t.calls == nil {
		t.calls = make(map[int32]int)
	}
	i := len(t.calls)
	t.calls[aws.ToInt32(e.ContentBlockIndex)] = i
	t.deltas = append(t.deltas, model.Delta{Type: model.DeltaToolStart, Index: i, CallID: aws.ToString(call.Value.ToolUseId), Name: *call.Value.Name})
	return nil
}

func (t *turn) piece(e types.ContentBlockDeltaEvent) error {
	switch d := e.Delta.(type) {
	case *types.ContentBlockDeltaMemberText:
		t.say(model.Delta{Type: model.DeltaText, Text: d.Value})
	case *types.ContentBlockDeltaMemberToolUse:
		i, ok := t.calls[aws.ToInt32(e.ContentBlockIndex)]
		if !ok {
			return broken(fmt.Sprintf("arguments of block %d, which is not a tool call", aws.ToInt32(e.ContentBlockIndex)))
		}
		t.say(model.Delta{Type: model.DeltaToolArgument, Index: i, Text: aws.ToString(d.Value.Input)})
	case *types.ContentBlockDeltaMemberCitation:
		t.citations = append(t.citations, d.Value)
	case *types.ContentBlockDeltaMemberReasoningContent:
		switch r := d.Value.(type) {
		case *types.ReasoningContentBlockDeltaMemberText:
			t.say(model.Delta{Type: model.DeltaReasoning, Text: r.Value})
		case *types.ReasoningContentBlockDeltaMemberSignature:
			t.signature.WriteString(r.Value)
		case *types.ReasoningContentBlockDeltaMemberRedactedContent:
			t.redacted = append(t.redacted, r.Value...)
		}
	}
	return nil
}

func (t *turn) say(d model.Delta) {
	if d.Text == "" {
		return
	}
	if d.Type == model.DeltaText {
		t.said.Add(d.Text)
	}
	t.deltas = append(t.deltas, d)
}

// endBlock gives the open text block its citations, and the open reasoning block what must
// be sent back with it.
func (t *turn) endBlock() error {
	for i := range t.citations {
		t.deltas = append(t.deltas, wire.Cite(annotation(&t.citations[i], t.from, t.said.Len())))
	}
	t.from, t.citations = t.said.Len(), nil
	e := echo{Signature: t.signature.String(), Redacted: t.redacted}
	t.signature.Reset()
	t.redacted = nil
	if e.Signature == "" && e.Redacted == nil {
		return nil
	}
	back, err := json.Marshal(e)
	if err != nil {
		return broken(fmt.Sprintf("encode a signature: %v", err))
	}
	t.deltas = append(t.deltas, model.Delta{Type: model.DeltaReasoning, Echo: back})
	return nil
}

// end maps the stop reason. Complete calls count with any reason; but a limit, a filter
// or an unknown reason may have truncated them.
func (t *turn) end(reason types.StopReason) error {
	switch reason {
	case types.StopReasonEndTurn, types.StopReasonToolUse:
		t.stop = core.StopEndTurn
		if len(t.calls) > 0 {
			t.stop = core.StopToolUse
		}
	case types.StopReasonMaxTokens:
		t.stop = core.StopMaxTokens
	case types.StopReasonStopSequence:
		t.stop = core.StopSequence
	case types.StopReasonGuardrailIntervened, types.StopReasonContentFiltered:
		t.stop = core.StopContentFilter
	case types.StopReasonModelContextWindowExceeded:
		t.stop = core.StopContextOverflow
	case types.StopReasonMalformedModelOutput, types.StopReasonMalformedToolUse:
		return broken("the model's output was malformed: " + string(reason))
	default:
		t.stop = core.StopOther
	}
	t.stopped = true
	return nil
}

// meter reports the usage. The API's input leaves out what came from the cache or
// went there; ours has it.
func (t *turn) meter(u *types.TokenUsage) {
	if u == nil {
		return
	}
	t.metered = true
	read, written := int(aws.ToInt32(u.CacheReadInputTokens)), int(aws.ToInt32(u.CacheWriteInputTokens))
	hour := 0
	for _, detail := range u.CacheDetails {
		if detail.Ttl == types.CacheTTLOneHour {
			hour += int(aws.ToInt32(detail.InputTokens))
		}
	}
	t.deltas = append(t.deltas, model.Delta{Type: model.DeltaUsage, Usage: core.Usage{
		Input: int(aws.ToInt32(u.InputTokens)) + read + written, Output: int(aws.ToInt32(u.OutputTokens)),
		CacheRead: read, CacheWrite: written, CacheWriteHour: min(hour, written),
	}})
}

// broken is the error of a turn that another attempt may make whole.
func broken(message string) error {
	return &model.Error{Kind: model.KindProvider, Message: "bedrock: " + message}
}
