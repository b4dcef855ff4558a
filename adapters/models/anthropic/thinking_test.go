package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// thought is a turn of a model with thinking, and a call with its result.
func thought(origin, by string) []core.Message {
	return []core.Message{{
		Role: core.RoleAssistant, Model: by,
		Content: []core.Block{
			{Type: core.BlockReasoning, Text: "hm", Echo: json.RawMessage(`{"type":"thinking","thinking":"hm","signature":"<s>"}`), Origin: origin},
			{Type: core.BlockText, Text: "I look."},
		},
		ToolCalls: []core.ToolCall{{ID: "x", Name: "add"}},
	}, result("x", "1")}
}

// unsigned is the same without thinking.
func unsigned(by string) []core.Message {
	turn := thought("", by)
	turn[0].Content = turn[0].Content[1:]
	return turn
}

func TestHowAModelThinks(t *testing.T) {
	const none = `null`
	tests := []struct {
		model    string
		effort   model.Effort
		limit    int
		thinking string
		config   string
		tokens   int
	}{
		{"claude-3-opus-latest", "", 0, none, none, 4096},
		{"claude-3-5-sonnet-latest", model.EffortNone, 0, none, none, 8192},
		{"claude-sonnet-4-5", "", 0, none, none, 32_000},
		{"claude-sonnet-4-5", model.EffortNone, 0, none, none, 32_000},
		{"claude-sonnet-4-5", model.EffortLow, 0, `{"type":"enabled","budget_tokens":2048}`, none, 32_000},
		{"claude-sonnet-4-5", model.EffortMedium, 0, `{"type":"enabled","budget_tokens":8192}`, none, 32_000},
		{"claude-sonnet-4-5", model.EffortHigh, 0, `{"type":"enabled","budget_tokens":16384}`, none, 32_000},
		{"claude-sonnet-4-5", model.EffortMax, 0, `{"type":"enabled","budget_tokens":32768}`, none, 64_000},
		{"claude-opus-4-1", model.EffortMax, 0, `{"type":"enabled","budget_tokens":24000}`, none, 32_000},
		{"claude-sonnet-4-5", model.EffortHigh, 4000, `{"type":"enabled","budget_tokens":3000}`, none, 4000},
		{"claude-sonnet-4-5", model.EffortHigh, 1366, `{"type":"enabled","budget_tokens":1024}`, none, 1366},
		{"claude-sonnet-4-5", model.EffortHigh, 1365, none, none, 1365}, // no room to think
		{"claude-sonnet-4-5", model.EffortBudget(5000), 0, `{"type":"enabled","budget_tokens":5000}`, none, 37_000},
		{"claude-sonnet-4-5", model.EffortBudget(40_000), 0, `{"type":"enabled","budget_tokens":40000}`, none, 64_000},
		{"claude-sonnet-4-5", model.EffortBudget(1024), 1025, `{"type":"enabled","budget_tokens":1024}`, none, 1025},
		{"claude-opus-4-6", "", 0, none, none, 32_000},
		{"claude-opus-4-6", model.EffortMax, 0, `{"type":"adaptive"}`, `{"effort":"max"}`, 64_000},
		{"claude-opus-4-6", model.EffortBudget(5000), 0, `{"type":"enabled","budget_tokens":5000}`, none, 37_000},
		{"claude-opus-4-8", "", 0, none, none, 32_000},
		{"claude-opus-4-8", model.EffortNone, 0, none, none, 32_000},
		{"claude-opus-4-8", model.EffortLow, 0, `{"type":"adaptive","display":"summarized"}`, `{"effort":"low"}`, 32_000},
		{"claude-opus-5", "", 0, `{"type":"adaptive","display":"summarized"}`, none, 32_000},
		{"claude-opus-5", model.EffortNone, 0, `{"type":"disabled"}`, none, 32_000},
		{"claude-sonnet-5-5", model.EffortNone, 0, `{"type":"between_tools"}`, none, 32_000},
		{"claude-haiku-5-5", model.EffortNone, 0, `{"type":"disabled"}`, none, 32_000},
		{"claude-opus-5-5", model.EffortNone, 0, `{"type":"adaptive","display":"summarized"}`, `{"effort":"low"}`, 32_000},
		{"glm-5", "", 0, none, none, 8192},
		{"glm-5", model.EffortLow, 0, `{"type":"enabled","budget_tokens":2048}`, none, 8192},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.model, " ", test.effort, " ", test.limit), func(t *testing.T) {
			got := sent(t, model.Request{
				Model: test.model, ReasoningEffort: test.effort, MaxTokens: test.limit, Messages: []core.Message{said(core.RoleUser, "hi")},
			})
			if got.Thinking != test.thinking || got.Config != test.config || got.Tokens != test.tokens || got.Beta != "" {
				t.Errorf("thinking %s, config %s, %d tokens, beta %q", got.Thinking, got.Config, got.Tokens, got.Beta)
			}
		})
	}
}

// An effort is a level that the model has, by the catalog.
func TestAnEffortIsALevelOfTheModel(t *testing.T) {
	for _, tt := range []struct {
		model  string
		levels []string
		effort model.Effort
		want   string
	}{
		{"claude-opus-4-6", []string{"low", "medium", "high", "max"}, model.EffortMax, `{"effort":"max"}`},
		{"claude-opus-5-5", []string{"low", "medium", "high", "xhigh", "max"}, model.EffortMax, `{"effort":"max"}`},
		{"claude-opus-5-5", []string{"low", "medium", "high"}, model.EffortMax, `{"effort":"high"}`},
		{"claude-opus-5-5", []string{"medium", "high"}, model.EffortNone, `{"effort":"medium"}`},
		{"claude-opus-5-5", []string{"medium", "high"}, model.EffortLow, `{"effort":"medium"}`},
		{"claude-opus-5-5", nil, model.EffortNone, `{"effort":"low"}`},
	} {
		got := sent(t, model.Request{Model: tt.model, ReasoningEffort: tt.effort, Levels: tt.levels, Messages: []core.Message{said(core.RoleUser, "hi")}})
		if got.Config != tt.want {
			t.Errorf("%s of %s with levels %q: config %s, want %s", tt.effort, tt.model, tt.levels, got.Config, tt.want)
		}
	}
}

// wireRequest is of a body what thinking is about.
type wireRequest struct {
	Thinking, Config string // as JSON
	Tokens           int
	Blocks           []string // the types of each message's
	Choice           string
	Beta             string
}

func sent(t *testing.T, r model.Request) wireRequest {
	t.Helper()
	wire, err := encode(r, false)
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Thinking     json.RawMessage `json:"thinking"`
		OutputConfig json.RawMessage `json:"output_config"`
		MaxTokens    int             `json:"max_tokens"`
		ToolChoice   struct {
			Type string `json:"type"`
		} `json:"tool_choice"`
		Messages []struct {
			Content []struct {
				Type string `json:"type"`
			} `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(wire.body, &body); err != nil {
		t.Fatal(err)
	}
	got := wireRequest{Thinking: "null", Config: "null", Tokens: body.MaxTokens, Choice: body.ToolChoice.Type, Beta: wire.beta}
	if body.Thinking != nil {
		got.Thinking = string(body.Thinking)
	}
	if body.OutputConfig != nil {
		got.Config = string(body.OutputConfig)
	}
	for _, m := range body.Messages {
		var types []string
		for _, b := range m.Content {
			types = append(types, b.Type)
		}
		got.Blocks = append(got.Blocks, strings.Join(types, " "))
	}
	return got
}

func TestThinkingGoesBackToTheModelThatThought(t *testing.T) {
	const (
		manual   = `{"type":"enabled","budget_tokens":2048}`
		adaptive = `{"type":"adaptive","display":"summarized"}`
		bound    = `{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`
		with     = "thinking text tool_use"
		without  = "text tool_use"
	)
	user, note := said(core.RoleUser, "hi"), said(core.RoleSystem, "It is noon.")
	own := func(name string) []core.Message { return thought("anthropic/"+name, name) }
	foreign := core.Message{Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockReasoning, Text: "hm", Echo: json.RawMessage(`{}`), Origin: "o"}}}
	bare := unsigned("claude-sonnet-4-5")
	bare[0].Content = nil
	mixed := own("claude-sonnet-4-5")
	mixed[0].Content = append([]core.Block{foreign.Content[0], {Type: core.BlockText, Text: " "}}, mixed[0].Content...)
	tests := []struct {
		name     string
		model    string
		effort   model.Effort
		history  [][]core.Message // behind a user's message
		thinking string
		turns    []string // the blocks of each of the model's messages
		beta     string
	}{
		{"its own, unchanged", "claude-sonnet-4-5", model.EffortLow, [][]core.Message{own("claude-sonnet-4-5"), {note}}, manual, []string{with}, ""},
		{"another's", "claude-sonnet-4-5", model.EffortLow, [][]core.Message{own("claude-opus-4-5")}, "null", []string{without}, ""},
		{"another's, and a person behind", "claude-sonnet-4-5", model.EffortLow, [][]core.Message{own("claude-opus-4-5"), {user}}, "null", []string{without}, ""},
		{"another's in a loop that is closed", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{own("claude-opus-4-5"), {said(core.RoleAssistant, "It is 1."), user}}, manual, []string{without, "text"}, ""},
		{"its own that does not think again", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{own("claude-sonnet-4-5"), unsigned("claude-sonnet-4-5")}, manual, []string{with, without}, ""},
		{"its own of before it was asked to think", "claude-sonnet-4-5", model.EffortLow, [][]core.Message{unsigned("claude-sonnet-4-5")}, "null", []string{without}, ""},
		{"another's in the middle", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{own("claude-sonnet-4-5"), unsigned("gpt-5")}, "null", []string{without, without}, ""},
		{"another's first", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{unsigned("gpt-5"), own("claude-sonnet-4-5")}, "null", []string{without, without}, ""},
		{"a loop of before", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{unsigned("gpt-5"), {user}, own("claude-sonnet-4-5")}, manual, []string{without, with}, ""},
		{"another's, all of which is left out", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{unsigned("gpt-5"), {said(core.RoleAssistant, " "), user}}, "null", []string{without}, ""},
		{"words right before it", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{{said(core.RoleAssistant, "Well.")}, own("claude-sonnet-4-5")}, "null", []string{"text text tool_use"}, ""},
		{"words before it, and context between", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{{said(core.RoleAssistant, "Well."), note}, own("claude-sonnet-4-5")}, manual, []string{"text", with}, ""},
		{"words before it, nothing, and context between", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{{said(core.RoleAssistant, "Well."), said(core.RoleAssistant, " "), note}, own("claude-sonnet-4-5")}, manual, []string{"text", with}, ""},
		{"words twice at the end", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{{said(core.RoleAssistant, "Well."), said(core.RoleAssistant, "Yes."), user}}, manual, []string{"text text"}, ""},
		{"another's, and thoughts of another behind", "claude-sonnet-4-5", model.EffortLow,
			[][]core.Message{unsigned("gpt-5"), {foreign, user}}, "null", []string{without}, ""},
		{"calls and nothing else", "claude-sonnet-4-5", model.EffortLow, [][]core.Message{bare}, "null", []string{"tool_use"}, ""},
		{"its own behind another's thought and a space", "claude-sonnet-4-5", model.EffortLow, [][]core.Message{mixed}, manual, []string{with}, ""},
		{"a model that is not asked to think", "claude-sonnet-4-5", "", [][]core.Message{own("claude-sonnet-4-5")}, "null", []string{without}, ""},
		{"another vendor's", "glm-5", "", [][]core.Message{own("glm-5")}, "null", []string{with}, ""},
		{"another vendor's, kept from it", "glm-5", model.EffortNone, [][]core.Message{own("glm-5")}, "null", []string{without}, ""},
		{"another's before a model that thinks unasked", "claude-opus-5", "", [][]core.Message{unsigned("gpt-5")}, `{"type":"disabled"}`, []string{without}, ""},
		{"another's before one that always thinks", "claude-fable-5", model.EffortHigh, [][]core.Message{unsigned("gpt-5")}, adaptive, []string{without}, ""},
		{"its own that is bound", "claude-opus-5-5", "", [][]core.Message{own("claude-opus-5-5")}, bound, []string{with}, "thinking-binding-controls-2026-08-01"},
		{"nothing that could be bound", "claude-opus-5-5", "", [][]core.Message{own("claude-opus-5")}, adaptive, []string{without}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := model.Request{Model: test.model, Origin: "anthropic/" + test.model, ReasoningEffort: test.effort, Messages: []core.Message{user}}
			for _, part := range test.history {
				r.Messages = append(r.Messages, part...)
			}
			got := sent(t, r)
			var turns []string
			for i := 1; i < len(got.Blocks); i += 2 {
				turns = append(turns, got.Blocks[i])
			}
			if diff := cmp.Diff(test.turns, turns); diff != "" || got.Thinking != test.thinking || got.Beta != test.beta {
				t.Errorf("thinking %s, beta %q\n%s", got.Thinking, got.Beta, diff)
			}
		})
	}
}

func TestAnEffortHoldsThroughAToolLoop(t *testing.T) {
	const (
		adaptive = `{"type":"adaptive","display":"summarized"}`
		low      = `{"effort":"low"}`
		with     = "thinking text tool_use"
		without  = "text tool_use"
	)
	loop := func(turns ...[]core.Message) []core.Message {
		messages := []core.Message{said(core.RoleUser, "hi")}
		for _, turn := range turns {
			messages = append(messages, turn...)
		}
		return messages
	}
	its := func(name string) []core.Message { return loop(unsigned(name)) }
	others := loop(unsigned("gpt-5"))
	tests := []struct {
		name     string
		model    string
		effort   model.Effort
		history  []core.Message
		thinking string
		config   string
		turns    []string
	}{
		{"a first call without thinking", "claude-opus-4-8", model.EffortLow, its("claude-opus-4-8"), adaptive, low, []string{without}},
		{"of one that shows its thinking", "claude-sonnet-4-6", model.EffortLow, its("claude-sonnet-4-6"), `{"type":"adaptive"}`, low, []string{without}},
		{"of one that thinks unasked", "claude-opus-5", model.EffortLow, its("claude-opus-5"), adaptive, low, []string{without}},
		{"and was not asked", "claude-opus-5", "", its("claude-opus-5"), adaptive, "null", []string{without}},
		{"thinking from the second call on", "claude-opus-4-8", model.EffortLow,
			loop(unsigned("claude-opus-4-8"), thought("anthropic/claude-opus-4-8", "claude-opus-4-8")), adaptive, low, []string{without, with}},
		{"within a budget", "claude-sonnet-4-6", model.EffortBudget(2048), its("claude-sonnet-4-6"), "null", "null", []string{without}},
		{"another's", "claude-opus-4-8", model.EffortLow, others, "null", low, []string{without}},
		{"another's, at the highest level", "claude-opus-4-6", model.EffortMax, others, "null", `{"effort":"max"}`, []string{without}},
		{"another's, of one with budgets alone", "claude-sonnet-4-5", model.EffortLow, others, "null", "null", []string{without}},
		{"another's, of one that is kept from thinking at no level above high", "claude-opus-5", model.EffortMax, others, `{"type":"disabled"}`, `{"effort":"high"}`, []string{without}},
		{"another's, of one that thinks between calls", "claude-sonnet-5-5", model.EffortMedium, others, `{"type":"between_tools"}`, `{"effort":"medium"}`, []string{without}},
		{"another's, of one that always thinks", "claude-opus-5-5", model.EffortMax, others, adaptive, `{"effort":"max"}`, []string{without}},
		{"kept from thinking", "claude-opus-4-8", model.EffortNone, its("claude-opus-4-8"), "null", "null", []string{without}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := sent(t, model.Request{Model: test.model, Origin: "anthropic/" + test.model, ReasoningEffort: test.effort, Messages: test.history})
			var turns []string
			for i := 1; i < len(got.Blocks); i += 2 {
				turns = append(turns, got.Blocks[i])
			}
			if diff := cmp.Diff(test.turns, turns); diff != "" || got.Thinking != test.thinking || got.Config != test.config {
				t.Errorf("thinking %s, config %s\n%s", got.Thinking, got.Config, diff)
			}
		})
	}
}

func TestOwnThinkingIsSentByteForByte(t *testing.T) {
	const echo = `{"type":"thinking","thinking":"hm","signature":"<s>"}`
	wire, err := encode(model.Request{
		Model: "claude-opus-5", Origin: "o", Messages: append([]core.Message{said(core.RoleUser, "hi")}, thought("o", "claude-opus-5")...),
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"role":"assistant","content":[` + echo + `,{"type":"text","text":"I look."},`; !strings.Contains(string(wire.body), want) {
		t.Errorf("%s\nis not in %s", want, wire.body)
	}
}

func TestAForcedChoiceBesideThinking(t *testing.T) {
	tests := []struct {
		model  string
		effort model.Effort
		want   string
	}{
		{"claude-sonnet-4-5", "", "any"},
		{"claude-sonnet-4-5", model.EffortLow, "auto"},
		{"claude-opus-4-8", model.EffortLow, "any"},
		{"claude-sonnet-4-6", model.EffortLow, "any"},
		{"claude-sonnet-4-6", model.EffortBudget(2048), "auto"},
		{"claude-opus-4-6", model.EffortBudget(2048), "auto"},
		{"claude-opus-4-6", "", "any"},
		{"claude-opus-5-5", "", "auto"},
		{"claude-sonnet-5-5", model.EffortNone, "auto"},
		{"claude-opus-5", model.EffortNone, "any"},
		{"glm-5", model.EffortLow, "auto"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.model, " ", test.effort), func(t *testing.T) {
			got := sent(t, model.Request{
				Model: test.model, ReasoningEffort: test.effort, Messages: []core.Message{said(core.RoleUser, "hi")},
				Tools: []model.ToolDefinition{{Name: "add"}}, ToolChoice: model.ToolChoice{Mode: model.ToolRequired},
			})
			if got.Choice != test.want {
				t.Errorf("choice %q, want %q", got.Choice, test.want)
			}
		})
	}
}
