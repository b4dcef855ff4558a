package bedrock

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// maxInt32 is the largest count that the API has a field for.
const maxInt32 = 1<<31 - 1

// encode returns a request in the API's terms. If the API cannot express a part, the
// error names it.
func encode(request model.Request) (*bedrockruntime.ConverseStreamInput, error) {
	c, err := converse(request)
	if err != nil {
		return nil, err
	}
	kin := kinOf(request.Model)
	input, err := frame(request, c.loop())
	if err != nil {
		return nil, err
	}
	input.System = c.system(request.System, kin.marks && !request.NoPromptCache)
	input.Messages = c.messages(kin.marks && !request.NoPromptCache)
	if c.calls != nil && input.ToolConfig == nil { // the API wants tools described that the history calls
		input.ToolConfig = &types.ToolConfiguration{Tools: stubs(c.calls)}
	}
	return input, nil
}

// frame is the request without its conversation, which ends in the loop. Claude makes its
// turn without reasoning where a call is forced, where another model has said a part of the
// loop, and within a budget where the loop began without, as the API wants it.
func frame(request model.Request, open loop) (*bedrockruntime.ConverseStreamInput, error) {
	if request.Model == "" {
		return nil, invalid("the request names no model")
	}
	input := &bedrockruntime.ConverseStreamInput{ModelId: aws.String(request.Model)}
	kin := kinOf(request.Model)
	thought, err := kin.think(request)
	if err != nil {
		return nil, err
	}
	if forced(request) && kin.unforced() {
		request.ToolChoice.Mode = model.ToolAuto
	}
	if kin.family == claude && (forced(request) || open.foreign || open.unthought && thought.budgeted) {
		thought = kin.unthinking(thought)
	}
	if thought.level != "" {
		input.OutputConfig = &types.OutputConfig{Effort: aws.String(thought.level)}
	}
	if f := request.ResponseFormat; f != nil {
		if err := f.Check(); err != nil {
			return nil, err
		}
		if input.OutputConfig == nil {
			input.OutputConfig = &types.OutputConfig{}
		}
		input.OutputConfig.TextFormat = &types.OutputFormat{
			Type: types.OutputFormatTypeJsonSchema,
			Structure: &types.OutputFormatStructureMemberJsonSchema{Value: types.JsonSchemaDefinition{
				Name: aws.String(f.Name), Schema: aws.String(string(compact(f.Schema))),
			}},
		}
	}
	if input.InferenceConfig, err = limits(request, kin); err != nil {
		return nil, err
	}
	if input.ToolConfig, err = tools(request, kin.marksTools && !request.NoPromptCache); err != nil {
		return nil, err
	}
	return input, apply(input, request.ProviderOptions, thought.fields)
}

// limits are the parameters that all models have. Nil: none is set.
func limits(request model.Request, k kin) (*types.InferenceConfiguration, error) {
	if request.MaxTokens > maxInt32 {
		return nil, invalid("max_tokens is %d, at most %d", request.MaxTokens, maxInt32)
	}
	if request.Temperature != nil && request.TopP != nil && k.family == claude && k.atLeast(4, 1) {
		return nil, invalid("the model %q takes temperature or top_p, not both", request.Model)
	}
	c := types.InferenceConfiguration{StopSequences: request.StopSequences}
	if request.MaxTokens > 0 {
		c.MaxTokens = aws.Int32(int32(request.MaxTokens))
	}
	if request.Temperature != nil {
		c.Temperature = aws.Float32(float32(*request.Temperature))
	}
	if request.TopP != nil {
		c.TopP = aws.Float32(float32(*request.TopP))
	}
	if c.MaxTokens == nil && c.Temperature == nil && c.TopP == nil && len(c.StopSequences) == 0 {
		return nil, nil
	}
	return &c, nil
}

// rawDocument is JSON that goes out as it is. The SDK's own documents are decoded and
// encoded again, and a provider's prompt cache compares bytes.
type rawDocument struct {
	document.Interface
	text []byte
}

// MarshalSmithyDocument implements document.Interface.
func (d rawDocument) MarshalSmithyDocument() ([]byte, error) { return d.text, nil }

// raw makes a document of JSON.
func raw(text []byte) document.Interface {
	return rawDocument{document.NewLazyDocument(nil), compact(text)}
}

// compact is JSON without spaces; other text stays unchanged.
func compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

func invalid(format string, args ...any) error {
	return wire.Invalid(name, fmt.Sprintf(format, args...))
}
