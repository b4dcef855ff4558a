package gemini

import (
	"encoding/json"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
)

// The request as the API spells it. Fields and tools keep their order, since the
// provider's cache compares beginnings.
type (
	generateRequest struct {
		SystemInstruction *content        `json:"systemInstruction,omitempty"`
		Tools             []toolSet       `json:"tools,omitempty"`
		ToolConfig        *toolConfig     `json:"toolConfig,omitempty"`
		GenerationConfig  json.RawMessage `json:"generationConfig,omitempty"` // generationConfig and the request's own members
		Contents          []content       `json:"contents"`
	}
	content struct {
		Role  string `json:"role,omitempty"`
		Parts []part `json:"parts"`
	}
	// part is one piece of a content, in requests and in responses.
	part struct {
		Text             *string           `json:"text,omitempty"`
		Thought          bool              `json:"thought,omitempty"` // the text is reasoning
		InlineData       *blob             `json:"inlineData,omitempty"`
		FileData         *fileData         `json:"fileData,omitempty"`
		FunctionCall     *functionCall     `json:"functionCall,omitempty"`
		FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
		ThoughtSignature string            `json:"thoughtSignature,omitempty"`
	}
	blob struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"`
	}
	fileData struct {
		MIMEType string `json:"mimeType"`
		FileURI  string `json:"fileUri"`
	}
	functionCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`

		// Only in responses, and only where they were asked for.
		PartialArgs  json.RawMessage `json:"partialArgs,omitempty"`
		WillContinue bool            `json:"willContinue,omitempty"`
	}
	functionResponse struct {
		ID       string          `json:"id,omitempty"`
		Name     string          `json:"name"`
		Response functionOutcome `json:"response"`
		Parts    []resultPart    `json:"parts,omitempty"`
	}
	// resultPart is a file within a result.
	resultPart struct {
		InlineData *blob `json:"inlineData"`
	}
	// functionOutcome has the two keys that the API knows: one of them is set.
	functionOutcome struct {
		Output json.RawMessage `json:"output,omitempty"`
		Error  json.RawMessage `json:"error,omitempty"`
	}
	toolSet struct {
		FunctionDeclarations []functionDeclaration `json:"functionDeclarations"`
	}
	functionDeclaration struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
	}
	toolConfig struct {
		FunctionCallingConfig functionCallingConfig `json:"functionCallingConfig"`
	}
	functionCallingConfig struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames,omitempty"`
	}
	generationConfig struct {
		MaxOutputTokens    int             `json:"maxOutputTokens,omitempty"`
		Temperature        *float64        `json:"temperature,omitempty"`
		TopP               *float64        `json:"topP,omitempty"`
		StopSequences      []string        `json:"stopSequences,omitempty"`
		ResponseMIMEType   string          `json:"responseMimeType,omitempty"`
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
		ThinkingConfig     *thinkingConfig `json:"thinkingConfig,omitempty"`
	}
	thinkingConfig struct {
		IncludeThoughts bool   `json:"includeThoughts,omitempty"`
		ThinkingBudget  *int   `json:"thinkingBudget,omitempty"`
		ThinkingLevel   string `json:"thinkingLevel,omitempty"`
	}
)

// chunk is the data of one event of a stream. Fields that are not read, such as safety
// ratings, are ignored.
type chunk struct {
	Candidates     []candidate     `json:"candidates"`
	PromptFeedback promptFeedback  `json:"promptFeedback"`
	Usage          *usageMetadata  `json:"usageMetadata"`
	Error          json.RawMessage `json:"error"`
}

type candidate struct {
	Index         int     `json:"index"`
	Content       content `json:"content"`
	FinishReason  string  `json:"finishReason"`
	FinishMessage string  `json:"finishMessage"`

	Grounding wire.Loose[grounding] `json:"groundingMetadata"`
	Citations wire.Loose[citations] `json:"citationMetadata"`
}

type promptFeedback struct {
	BlockReason        string `json:"blockReason"`
	BlockReasonMessage string `json:"blockReasonMessage"`
}

type usageMetadata struct {
	Prompt     int `json:"promptTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	ToolPrompt int `json:"toolUsePromptTokenCount"` // of the provider's own tools
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
}
