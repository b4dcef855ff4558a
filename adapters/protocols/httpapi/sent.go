package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
)

// sentRequest is the request of a step as its model received it.
type sentRequest struct {
	RunID    core.ID        `json:"run_id"`
	Step     int            `json:"step"`
	Provider string         `json:"provider,omitempty"`
	Model    string         `json:"model"` // the provider's name of the model
	System   string         `json:"system"`
	Tools    []sentTool     `json:"tools"`    // in the order of the request
	Messages []core.Message `json:"messages"` // in the order of the request
	Options  sentOptions    `json:"options"`
	Window   sentWindow     `json:"window"`
	Tokens   sentTokens     `json:"tokens"`
	Hash     string         `json:"hash"` // equal hashes in a thread: equal system prompt, tools and fixed options
}

type sentTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
}

// sentOptions are the parameters of a request. Absent: the provider's default.
type sentOptions struct {
	MaxTokens       int                   `json:"max_tokens,omitempty"`
	Temperature     *float64              `json:"temperature,omitempty"`
	TopP            *float64              `json:"top_p,omitempty"`
	ReasoningEffort model.Effort          `json:"reasoning_effort,omitempty"`
	StopSequences   []string              `json:"stop_sequences,omitempty"`
	ResponseFormat  *model.ResponseFormat `json:"response_format,omitempty"`
	ToolChoice      *model.ToolChoice     `json:"tool_choice,omitempty"`
	ProviderOptions json.RawMessage       `json:"provider_options,omitempty"` // members of the provider's own request
}

// sentWindow is the part of the thread in a request.
type sentWindow struct {
	Limit         int  `json:"limit,omitempty"`          // maximum tokens of the request
	Estimate      int  `json:"estimate,omitempty"`       // estimated tokens of the request
	Tokens        int  `json:"tokens,omitempty"`         // tokens of the request, as the provider counts them
	Omitted       *int `json:"omitted,omitempty"`        // number of messages of the thread that were not sent; absent: too many to count
	OmittedTokens *int `json:"omitted_tokens,omitempty"` // estimated tokens of those messages
	Shortened     int  `json:"shortened"`                // number of tool results that were sent shortened
	Summary       bool `json:"summary"`                  // a summary replaced the oldest messages
}

// sentTokens are estimates.
type sentTokens struct {
	System   int `json:"system"`
	Tools    int `json:"tools"`
	Messages int `json:"messages"`
}

// ofStep has the step of a run.
type ofStep struct {
	Step int `json:"step" in:"path"` // number of the step, from 1
}

// errRequestsHidden is 403.
var errRequestsHidden = core.Errorf(core.CodeDenied, "this deployment does not show the requests to models: REVEILLE_SHOW_REQUESTS is off")

func (a *api) getRequest(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	step, err := strconv.Atoi(r.PathValue("step"))
	if err != nil || step < 1 {
		return core.Errorf(core.CodeInvalid, "step is %q, want a number from 1", core.Excerpt(r.PathValue("step")))
	}
	if !a.options.ShowRequests {
		return errRequestsHidden
	}
	got, err := a.Host.Request(r.Context(), id, runID, step, slices.Contains(a.options.UsageReaders, id.User))
	if err != nil {
		return err
	}
	protocol.JSON(w, http.StatusOK, sentOf(got))
	return nil
}

func sentOf(s *host.SentRequest) sentRequest {
	q := &s.Request
	sent := sentRequest{
		RunID: s.Run, Step: s.Step, Provider: s.Provider, Model: q.Model, System: q.System, Hash: s.Hash,
		Tools: []sentTool{}, Messages: q.Messages,
		Options: sentOptions{
			MaxTokens: q.MaxTokens, Temperature: q.Temperature, TopP: q.TopP, ReasoningEffort: q.ReasoningEffort,
			StopSequences: q.StopSequences, ResponseFormat: q.ResponseFormat, ProviderOptions: q.ProviderOptions,
		},
		Window: sentWindow{Limit: s.Window.Limit, Estimate: s.Window.Estimate, Tokens: s.Window.Tokens, Shortened: s.Window.Shortened, Summary: s.Window.Summary},
		Tokens: sentTokens{System: s.System, Tools: s.Tools, Messages: s.Messages},
	}
	for _, t := range q.Tools {
		sent.Tools = append(sent.Tools, sentTool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	if sent.Messages == nil {
		sent.Messages = []core.Message{}
	}
	if !q.ToolChoice.IsZero() {
		sent.Options.ToolChoice = &q.ToolChoice
	}
	if s.Window.Omitted >= 0 {
		sent.Window.Omitted, sent.Window.OmittedTokens = &s.Window.Omitted, &s.Window.OmittedTokens
	}
	return sent
}
