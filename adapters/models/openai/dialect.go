package openai

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Dialect identifies the kind of server. Servers with Chat Completions differ in the
// names of the token limit and the effort, in the request forms that they accept, and in
// the reasoning that requests must return to them. Two dialects are of another API.
type Dialect string

// The dialects. The empty dialect is derived from the base URL's host. For a server at
// your own address (vLLM, llama.cpp, Ollama at another port), set the dialect.
const (
	DialectResponses Dialect = "responses" // not Chat Completions, but the Responses API of OpenAI, vLLM and others
	// DialectAzureResponses is the Responses API of Azure, at the v1 endpoint.
	DialectAzureResponses Dialect = "azure-responses"
	DialectOpenAI         Dialect = "openai"
	DialectAzure          Dialect = "azure" // the v1 endpoint
	DialectGroq           Dialect = "groq"
	DialectOpenRouter     Dialect = "openrouter" // accepts a budget of reasoning, and requires reasoning_details back
	DialectDeepSeek       Dialect = "deepseek"   // requires reasoning_content back for turns with calls
	DialectZAI            Dialect = "zai"        // as DeepSeek
	DialectXAI            Dialect = "xai"
	DialectMistral        Dialect = "mistral"
	DialectLlamaCpp       Dialect = "llamacpp"
	DialectOllama         Dialect = "ollama"
	DialectVLLM           Dialect = "vllm"
	DialectCompatible     Dialect = "compatible" // any other server: the form that most servers accept
)

// dialectAuto goes by the host of the base URL.
const dialectAuto Dialect = ""

// kin is what a dialect says.
type kin struct {
	baseURL    string   // the default address; empty: the user's own, or OpenAI's
	hosts      []string // with a dot in front: and all hosts below it
	limit      limitName
	usage      bool // stream_options, for the usage at the end
	efforts    effortForm
	levels     map[model.Effort]string
	narrow     []narrow // models that know fewer
	unschooled bool     // knows JSON but no schema: the system prompt describes it
	choices    choiceForm
	nine       bool // call ids are nine letters and digits
	strict     bool // about the order of roles, see order
	documents  bool // document_url for PDF, and image_url as a text
	echo       echoForm
}

type (
	limitName  uint8
	effortForm uint8
	choiceForm uint8
	echoForm   uint8
)

const (
	limitTokens     limitName = iota // max_tokens
	limitCompletion                  // max_completion_tokens: OpenAI's reasoning models refuse the other
)

const (
	effortPlain    effortForm = iota // reasoning_effort
	effortThinking                   // the same, but none is thinking: disabled
	effortObject                     // reasoning: {effort} or {max_tokens}
	effortTemplate                   // chat_template_kwargs
)

const (
	choiceFull  choiceForm = iota // auto, none, required, a function
	choiceAny                     // required is called any
	choiceWords                   // no function: it is the only tool that is sent, and required
	choiceAuto                    // nothing else
	choiceCalm                    // a forced call only where the model does not reason
)

const (
	echoNothing  echoForm = iota
	echoContent           // reasoning_content, of turns with calls
	echoRequired          // the same, and no such turn may be without while the model reasons
	echoDetails           // reasoning_details
)

// The levels as servers name them, for models whose own levels are not known. A level that a
// server does not have is the next higher one.
var (
	allLevels  = map[model.Effort]string{model.EffortNone: "none", model.EffortLow: "low", model.EffortMedium: "medium", model.EffortHigh: "high", model.EffortMax: "high"}
	extraHigh  = map[model.Effort]string{model.EffortNone: "none", model.EffortLow: "low", model.EffortMedium: "medium", model.EffortHigh: "high", model.EffortMax: "xhigh"}
	lowHighMax = map[model.Effort]string{model.EffortLow: "low", model.EffortMedium: "high", model.EffortHigh: "high", model.EffortMax: "max"}
	onOff      = map[model.Effort]string{model.EffortNone: "none", model.EffortLow: "high", model.EffortMedium: "high", model.EffortHigh: "high", model.EffortMax: "high"}
)

// kins are the dialects of Chat Completions by name.
var kins = map[Dialect]kin{
	DialectOpenAI:     {hosts: []string{"api.openai.com", ".api.openai.com"}, limit: limitCompletion, usage: true, levels: extraHigh},
	DialectAzure:      {hosts: []string{".openai.azure.com", ".services.ai.azure.com"}, limit: limitCompletion, usage: true, levels: extraHigh},
	DialectGroq:       {baseURL: "https://api.groq.com/openai/v1", hosts: []string{"api.groq.com"}, limit: limitCompletion, usage: true, levels: allLevels},
	DialectOpenRouter: {baseURL: "https://openrouter.ai/api/v1", hosts: []string{"openrouter.ai"}, usage: true, efforts: effortObject, levels: extraHigh, echo: echoDetails},
	DialectDeepSeek:   {baseURL: "https://api.deepseek.com", hosts: []string{"api.deepseek.com"}, usage: true, efforts: effortThinking, levels: lowHighMax, unschooled: true, choices: choiceCalm, echo: echoRequired},
	DialectZAI:        {baseURL: "https://api.z.ai/api/paas/v4", hosts: []string{"api.z.ai", "open.bigmodel.cn"}, efforts: effortThinking, levels: lowHighMax, unschooled: true, choices: choiceAuto, echo: echoContent},
	DialectXAI:        {baseURL: "https://api.x.ai/v1", hosts: []string{"api.x.ai", ".api.x.ai"}, limit: limitCompletion, usage: true, levels: allLevels, narrow: narrowXAI},
	DialectMistral:    {baseURL: "https://api.mistral.ai/v1", hosts: []string{"api.mistral.ai"}, levels: onOff, choices: choiceAny, nine: true, strict: true, documents: true},
	DialectLlamaCpp:   {baseURL: "http://127.0.0.1:8080/v1", usage: true, efforts: effortTemplate, levels: allLevels, choices: choiceWords},
	DialectOllama:     {baseURL: "http://127.0.0.1:11434/v1", hosts: []string{"ollama.com"}, usage: true, levels: allLevels},
	DialectVLLM:       {baseURL: "http://127.0.0.1:8000/v1", usage: true, levels: allLevels},
	DialectCompatible: {usage: true, levels: allLevels},
}

// dialectOf is what DialectAuto means for a host.
func dialectOf(host string) Dialect {
	for name, k := range kins {
		for _, known := range k.hosts {
			if host == known || strings.HasPrefix(known, ".") && strings.HasSuffix(host, known) {
				return name
			}
		}
	}
	return DialectCompatible
}

// check returns an error with code invalid for an unknown dialect.
func (d Dialect) check() error {
	if _, known := kins[d]; known || d == dialectAuto {
		return nil
	}
	var names []string
	for name := range kins {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return core.Errorf(core.CodeInvalid, "openai: dialect %q is unknown, allowed are %s", core.Excerpt(string(d)), strings.Join(names, ", "))
}

// effort sets how much the model may reason.
func (k kin) effort(c *chatRequest, request model.Request) error {
	effort := request.ReasoningEffort
	if effort == "" || c.Thinking != nil {
		return nil
	}
	if tokens, ok := effort.Budget(); ok && k.efforts == effortObject {
		c.Reasoning = &chatReasoning{MaxTokens: tokens}
		return nil
	}
	if k.efforts == effortThinking && effort == model.EffortNone {
		c.Thinking = &chatThinking{"disabled"}
		return nil
	}
	level, err := levelOf(request, k.levels, k.narrow)
	if err != nil {
		return err
	}
	switch {
	case k.efforts == effortObject:
		c.Reasoning = &chatReasoning{Effort: level}
	case k.efforts == effortTemplate && effort == model.EffortNone:
		c.Template = &chatTemplate{EnableThinking: new(false)}
	case k.efforts == effortTemplate:
		c.Template = &chatTemplate{ReasoningEffort: level}
	default:
		c.ReasoningEffort = level
	}
	return nil
}

// choose sets the tools and which of them may be called.
func (k kin) choose(c *chatRequest, choice model.ToolChoice) error {
	if len(c.Tools) == 0 {
		return nil // a choice without tools is refused by some servers
	}
	mode := choice.Mode
	if k.choices == choiceAuto {
		switch mode {
		case model.ToolNone:
			c.Tools = nil
		case model.ToolRequired, model.ToolNamed:
			return invalid(fmt.Sprintf(`tool choice %q is not supported by this API, which has only "auto"`, mode))
		}
		return nil
	}
	if k.choices == choiceCalm && (mode == model.ToolRequired || mode == model.ToolNamed) {
		c.Thinking = &chatThinking{"disabled"}
	}
	switch {
	case mode == "", mode == model.ToolAuto && k.choices == choiceCalm:
	case mode == model.ToolNamed && k.choices == choiceWords:
		named := slices.DeleteFunc(c.Tools, func(tool chatTool) bool { return tool.Function.Name != choice.Name })
		if len(named) == 0 {
			return invalid(fmt.Sprintf("tool choice names %q, which the request does not have", core.Excerpt(choice.Name)))
		}
		c.Tools, c.ToolChoice = named, "required"
	case mode == model.ToolNamed:
		c.ToolChoice = chatChoice{Type: "function", Function: chatChosenTool{choice.Name}}
	case mode == model.ToolRequired && k.choices == choiceAny:
		c.ToolChoice = "any"
	default:
		c.ToolChoice = string(mode)
	}
	return nil
}

// id returns the id of a call as the server takes it.
func (k kin) id(wire string) string {
	if !k.nine {
		return wire
	}
	var turn, call int
	if _, err := fmt.Sscanf(wire, "c%d_%d", &turn, &call); err != nil {
		return wire
	}
	return fmt.Sprintf("c%05d%03d", turn, call)
}
