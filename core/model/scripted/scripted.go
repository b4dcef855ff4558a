package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/model"
)

// failure is the error text of the rule fail.
const failure = "scripted model failure"

// help is the response to help.
const help = `I follow rules, without a network. "echo: X" calls a tool that says X back, "parallel: A, B" calls it once for each item. ` +
	`"think: X" reasons before it speaks, "slow: 20" says twenty words, ten a second, "cite: URL" names that page as its source, and "fail" fails. ` +
	`"approve: X" calls a tool that a person must approve, "ask: X" asks you a question. ` +
	`"state: {...}" sets keys of the shared state, and "call: TOOL {...}" calls any tool of the agent, yours too, with these arguments. ` +
	`"team: NAME PROMPT | NAME PROMPT" asks other agents, its delegates, all together. ` +
	`I repeat everything else.`

// wordInterval is the pause before each word of slow.
const wordInterval = 100 * time.Millisecond

// maxWords is the largest N of slow.
const maxWords = 600

// rules is the model of [Rules].
type rules struct{ env *env.Env }

// Rules returns the model that follows the rules of this package, in real time.
func Rules() model.Model { return New(env.System()) }

// New is [Rules] with another clock: the env's Sleep paces slow.
func New(e *env.Env) model.Model { return &rules{env: e} }

// Check implements model.Checker: there is no response format, so that an answer of a
// form comes by a tool, as in "call: final_answer {...}".
func (m *rules) Check(request model.Request) error {
	if request.ResponseFormat != nil {
		return core.Errorf(core.CodeInvalid, "the scripted model has no response format")
	}
	return nil
}

// Scripted reports that no provider responds. A host tells its clients.
func (*rules) Scripted() bool { return true }

// Stream implements model.Model.
func (m *rules) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	conversation := request.Messages // the rest of the request is not used
	return func(yield func(model.Delta, error) bool) {
		s := &script{ctx: ctx, env: m.env, yield: yield}
		messages, said := cutturn.Continued(conversation)
		user, results := lastTurn(messages)
		s.user, s.files, s.results = strings.TrimSpace(user.Text()), files(user), results
		s.said = len(said)
		s.usage.Input = countWords(conversation)
		if err := s.play(); err != nil && !s.left {
			yield(model.Delta{}, err)
		}
	}
}

// lastTurn finds the last user message and the tool results after it.
func lastTurn(messages []core.Message) (user core.Message, results []core.ToolResult) {
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := messages[i]; m.Role {
		case core.RoleUser:
			return m, results
		case core.RoleTool:
			if m.ToolResult != nil {
				results = append([]core.ToolResult{*m.ToolResult}, results...)
			}
		}
	}
	return user, results
}

// files tells which files a message has.
func files(m core.Message) string {
	var told []string
	for _, b := range m.Content {
		if b.Type != core.BlockFile {
			continue
		}
		from := fmt.Sprintf("%d bytes", len(b.Data))
		if b.URL != "" {
			from = b.URL
		}
		told = append(told, fmt.Sprintf("[%s, %s, %s]", cmp.Or(b.Filename, "a file"), b.MediaType, from))
	}
	return strings.Join(told, " ")
}

// script is one turn in the making.
type script struct {
	ctx     context.Context
	env     *env.Env
	yield   func(model.Delta, error) bool
	left    bool // the reader has stopped listening
	user    string
	files   string
	results []core.ToolResult
	said    int // bytes of the turn's text that an earlier call has said
	usage   core.Usage
}

// rest returns what follows a rule's prefix.
func (s *script) rest(prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(s.user, prefix+":")
	return strings.TrimSpace(rest), ok
}

func (s *script) play() error {
	if s.user == "fail" {
		return &model.Error{Kind: model.KindInvalid, Message: failure, Public: failure}
	}
	if strings.EqualFold(s.user, "help") || strings.EqualFold(s.user, "Tell me what you can do") {
		return s.say(help)
	}
	if why, invalid := s.invalid(); invalid {
		return s.say("Nothing came of it: " + why)
	}
	if x, ok := s.rest("echo"); ok {
		if len(s.results) > 0 {
			return s.say("Echo: " + x)
		}
		return s.call("echo", text{x})
	}
	if x, ok := s.rest("parallel"); ok {
		return s.parallel(x)
	}
	if x, ok := s.rest("team"); ok {
		return s.team(x)
	}
	if x, ok := s.rest("think"); ok {
		if s.said == 0 {
			s.send(model.Delta{Type: model.DeltaReasoning, Text: "Thinking about "})
			s.send(model.Delta{Type: model.DeltaReasoning, Text: x})
		}
		return s.say("I thought about it.")
	}
	if x, ok := s.rest("slow"); ok {
		return s.slow(x)
	}
	if x, ok := s.rest("cite"); ok {
		return s.cite(x)
	}
	if called, err := s.callOnce(); called {
		return err
	}
	if s.files != "" {
		return s.say(strings.TrimSpace("You said: "+s.user) + " " + s.files)
	}
	return s.say("You said: " + s.user)
}

// invalid returns why the newest call never ran: its agent has no such tool, as one without
// the demo's tools, or the arguments do not fit. The answers of the rules call and team have
// the names of tools.
func (s *script) invalid() (why string, ok bool) {
	_, call := s.rest("call")
	_, team := s.rest("team")
	if call || team || len(s.results) == 0 {
		return "", false
	}
	r := s.results[len(s.results)-1]
	return r.Text(), r.Status == core.ResultInvalid
}

// callOnce has the rules that call one tool and then report its result.
func (s *script) callOnce() (ok bool, err error) {
	if x, ok := s.rest("approve"); ok {
		return true, s.callThenSay("danger", text{x}, func(core.ToolResult) string { return "Done: " + x })
	}
	if x, ok := s.rest("ask"); ok {
		return true, s.callThenSay("ask_user", question{x}, func(r core.ToolResult) string { return "The answer is: " + output(r) })
	}
	if x, ok := s.rest("state"); ok {
		return true, s.callThenSay("set_state", written(`{"state":`+cmp.Or(x, "{}")+`}`), func(core.ToolResult) string { return "The state is set." })
	}
	if x, ok := s.rest("call"); ok {
		name, arguments, _ := strings.Cut(x, " ")
		if arguments = strings.TrimSpace(arguments); arguments == "" {
			arguments = "{}"
		}
		return true, s.callThenSay(name, written(arguments), func(r core.ToolResult) string { return "The result of " + name + ": " + output(r) })
	}
	return false, nil
}

// callThenSay calls a tool, and generates the text that then returns for its result. A
// person who refused the call reads that.
func (s *script) callThenSay(name string, arguments any, then func(core.ToolResult) string) error {
	if len(s.results) == 0 {
		return s.call(name, arguments)
	}
	r := s.results[len(s.results)-1]
	if r.Status == core.ResultDenied || r.Status == core.ResultCancelled {
		return s.say("The call of " + name + " was denied.")
	}
	return s.say(then(r))
}

// output is a result as people read it: a string without its quotes.
func output(r core.ToolResult) string {
	var text string
	if r.Message == "" && json.Unmarshal(r.Data, &text) == nil && string(r.Data) != "null" {
		return text
	}
	return r.Text()
}

// The arguments of the tools.
type (
	text struct { // of echo and danger
		Text string `json:"text"`
	}
	question struct { // of ask_user
		Question string `json:"question"`
	}
	written string // as they are, JSON or not
)

func (s *script) parallel(list string) error {
	var calls []any
	var items []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
			calls = append(calls, text{item})
		}
	}
	if len(items) == 0 || len(s.results) > 0 {
		return s.say("Echo: " + strings.Join(items, ", "))
	}
	return s.call("echo", calls...)
}

func (s *script) slow(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > maxWords {
		return s.say(fmt.Sprintf("slow takes a number from 1 to %d, not %q", maxWords, count))
	}
	for i := 1; i <= n && !s.left; i++ {
		word := "w" + strconv.Itoa(i)
		if i > 1 {
			word = " " + word
		}
		if word = s.unsaid(word); word == "" {
			continue
		}
		if err := s.env.Sleep(s.ctx, wordInterval); err != nil {
			return err
		}
		s.send(model.Delta{Type: model.DeltaText, Text: word})
		s.usage.Output++
	}
	return s.stop(core.StopEndTurn)
}

// unsaid returns what of the turn's next text no earlier call has said.
func (s *script) unsaid(text string) string {
	n := min(s.said, len(text))
	s.said -= n
	return text[n:]
}

// cite says a text that cites an address.
func (s *script) cite(address string) error {
	const said = "It names it there."
	before := s.said
	s.speak(s.unsaid(said))
	s.note(core.Annotation{Type: core.AnnotationURL, URL: address, Title: address, End: len("It names it")}, before)
	return s.stop(core.StopEndTurn)
}

// note sends a citation of a turn of which an earlier call has said so many bytes: offsets
// are those of this call's text. What that call had cited is known.
func (s *script) note(a core.Annotation, before int) {
	if a.End < before || a.End == before && before > 0 {
		return
	}
	a.Start, a.End = max(a.Start-before, 0), a.End-before
	s.send(model.Delta{Type: model.DeltaAnnotation, Annotation: &a})
}

// say is a turn of one text.
func (s *script) say(text string) error {
	s.speak(s.unsaid(text))
	return s.stop(core.StopEndTurn)
}

// speak streams a text in at least two deltas.
func (s *script) speak(text string) {
	cut := runeFrom(text, len(text)/2+1)
	if text != "" {
		s.send(model.Delta{Type: model.DeltaText, Text: text[:cut]})
	}
	if cut < len(text) {
		s.send(model.Delta{Type: model.DeltaText, Text: text[cut:]})
	}
	s.usage.Output = len(strings.Fields(text))
}

// runeFrom is the first place from cut on that is not inside a rune: half a rune would not
// survive a JSON encoder.
func runeFrom(text string, cut int) int {
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	return min(cut, len(text))
}

// call streams calls of a tool.
func (s *script) call(name string, arguments ...any) error {
	for i, a := range arguments {
		text, err := encode(a)
		if err != nil {
			return err
		}
		s.start(i, name, text)
	}
	s.usage.Output = len(arguments)
	return s.stop(core.StopToolUse)
}

// start streams a call, its arguments in two deltas.
func (s *script) start(i int, name, arguments string) {
	cut := runeFrom(arguments, len(arguments)/2)
	s.send(model.Delta{Type: model.DeltaToolStart, Index: i, Name: name})
	s.send(model.Delta{Type: model.DeltaToolArgument, Index: i, Text: arguments[:cut]})
	s.send(model.Delta{Type: model.DeltaToolArgument, Index: i, Text: arguments[cut:]})
}

func encode(arguments any) (string, error) {
	if text, ok := arguments.(written); ok {
		return string(text), nil
	}
	encoded, err := core.EncodeJSON(arguments)
	if err != nil {
		return "", fmt.Errorf("scripted arguments: %w", err)
	}
	return string(encoded), nil
}

func (s *script) stop(reason core.StopReason) error {
	s.send(model.Delta{Type: model.DeltaUsage, Usage: s.usage})
	s.send(model.Delta{Type: model.DeltaStop, Stop: reason})
	return nil
}

func (s *script) send(d model.Delta) {
	if !s.left {
		s.left = !s.yield(d, nil)
	}
}

func countWords(messages []core.Message) (n int) {
	for i := range messages {
		n += words(messages[i].Text())
	}
	return n
}

// blanks has a 1 for each blank of ASCII.
var blanks = [256]uint8{'\t': 1, '\n': 1, '\v': 1, '\f': 1, '\r': 1, ' ': 1}

// words is len(strings.Fields(text)). A long conversation is counted again for each of its
// inferences, so the pass over ASCII has no branches.
func words(text string) (n int) {
	between, all := uint8(1), uint8(0)
	for i := range len(text) {
		all |= text[i]
		blank := blanks[text[i]]
		n += int(between &^ blank)
		between = blank
	}
	if all >= utf8.RuneSelf {
		return len(strings.Fields(text))
	}
	return n
}
