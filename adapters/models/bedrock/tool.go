package bedrock

import (
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// emptySchema is the schema of a tool without arguments.
const emptySchema = `{"type":"object","properties":{}}`

// tools describes the tools; marked: with a cache point after them. Nil: there are no
// tools.
func tools(request model.Request, marked bool) (*types.ToolConfiguration, error) {
	if len(request.Tools) == 0 {
		return nil, nil // a choice without tools means nothing
	}
	config := &types.ToolConfiguration{}
	if err := wire.CheckTools(name, request.Tools, plainName, "1 to 64 of A-Z a-z 0-9 _ -"); err != nil {
		return nil, err
	}
	for _, t := range request.Tools {
		schema := t.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(emptySchema)
		}
		if !ofObject(schema) {
			return nil, invalid("the parameters of tool %q have no \"type\":\"object\" at their top", t.Name)
		}
		config.Tools = append(config.Tools, describe(t.Name, t.Description, schema))
	}
	if marked {
		config.Tools = append(config.Tools, &types.ToolMemberCachePoint{Value: cachePoint()})
	}
	switch request.ToolChoice.Mode {
	case "":
	case model.ToolAuto:
		config.ToolChoice = &types.ToolChoiceMemberAuto{}
	case model.ToolRequired:
		config.ToolChoice = &types.ToolChoiceMemberAny{}
	case model.ToolNamed:
		config.ToolChoice = &types.ToolChoiceMemberTool{Value: types.SpecificToolChoice{Name: aws.String(request.ToolChoice.Name)}}
	default:
		return nil, invalid(`tool_choice.mode %q is not supported by this API, which has "auto", "required" and "tool"`, request.ToolChoice.Mode)
	}
	return config, nil
}

// describe is one tool. The API refuses an empty description.
func describe(name, description string, schema []byte) types.Tool {
	spec := types.ToolSpecification{Name: aws.String(name), InputSchema: &types.ToolInputSchemaMemberJson{Value: raw(schema)}}
	if description != "" {
		spec.Description = aws.String(description)
	}
	return &types.ToolMemberToolSpec{Value: spec}
}

// stubs describe tools that only the history has.
func stubs(names []string) []types.Tool {
	var all []types.Tool
	for _, name := range names {
		all = append(all, describe(name, "No longer there: do not call it.", []byte(emptySchema)))
	}
	return all
}

// ofObject reports whether a schema is one of an object, as the API wants it.
func ofObject(schema json.RawMessage) bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

// maxToolName is the longest name of a tool.
const maxToolName = 64

// plainName reports whether the API takes the name of a tool.
func plainName(name string) bool { return wire.PlainName(name, maxToolName) }

func cachePoint() types.CachePointBlock {
	return types.CachePointBlock{Type: types.CachePointTypeDefault}
}
