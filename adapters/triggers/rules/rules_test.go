package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/mailbox"
)

// desk are a runtime that keeps what is submitted, and refuses what its threads say.
type desk struct {
	submitted []mailbox.Submission
	refused   map[string]error // by thread
	preset    string
}

func (*desk) HasAgent(id string) bool { return id == "demo" || id == "other" }
func (a *desk) DefaultAgent() string  { return a.preset }
func (a *desk) Submit(_ context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	if err := a.refused[s.Thread.Thread]; err != nil {
		return mailbox.Receipt{}, err
	}
	a.submitted = append(a.submitted, s)
	return mailbox.Receipt{ThreadID: s.Thread.Thread}, nil
}

// set makes triggers of the members of one, or of a whole list.
func setOf(a *desk, text string) (*Set, error) {
	if !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	all, err := parseFile("t.json", []byte(`{"triggers":`+text+`}`))
	if err != nil {
		return nil, err
	}
	return newSet(all, Options{Runtime: a, Tenant: "acme", Logger: slog.New(slog.DiscardHandler)})
}

func mustSet(t *testing.T, a *desk, text string) *Set {
	t.Helper()
	s, err := setOf(a, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIsWrongWithATriggerIsNamed(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"not JSON", `[{"name" "a"}]`, `t.json:1:22: file is not JSON at byte 22: invalid character '"' after object key`},
		{"no object", `[1]`, `t.json:1:14: triggers[0] is 1, want an object`},
		{"an unknown key", `{"nam":"a"}`, `t.json:1:15: unknown field "nam" in triggers[0], did you mean "name"?`},
		{"a key in another case", `{"Name":"a"}`, `t.json:1:15: unknown field "Name" in triggers[0], did you mean "name"?`},
		{"a key twice", `{"name":"a","name":"b"}`, `t.json:1:26: triggers[0].name is given twice`},
		{"a number for a text", `{"name":1}`, `t.json:1:22: triggers[0].name is 1, want a string`},
		{"an unknown key of the webhook", `{"webhook":{"secrets":"x"}}`, `t.json:1:26: unknown field "secrets" in triggers[0].webhook, did you mean "secret"?`},
		{"no name", `{"source":"sqs","prompt":"x"}`, `triggers[0] (): name is empty`},
		{"a name that no path takes", `{"name":"a/b","source":"sqs","prompt":"x"}`, `triggers[0] (a/b): name "a/b" has the character '/', allowed are A-Z a-z 0-9 . _ : -`},
		{"a name with a separator", `{"name":"a:b","source":"sqs","prompt":"x"}`, `triggers[0] (a:b): name "a:b" has the character ':', allowed are A-Z a-z 0-9 . _ -`},
		{"a name twice", `[{"name":"a","source":"sqs","prompt":"x"},{"name":"a","source":"s3","prompt":"x"}]`, `triggers[1] (a): name is used by an earlier trigger`},
		{"no source", `{"name":"a","prompt":"x"}`, `triggers[0] (a): source is required, allowed are eventbridge, s3, sns, sqs, dynamodb, schedule, webhook`},
		{"an unknown source", `{"name":"a","source":"kafka","prompt":"x"}`, `triggers[0] (a): source "kafka" is unknown, allowed are eventbridge, s3, sns, sqs, dynamodb, schedule, webhook`},
		{"an unknown agent", `{"name":"a","source":"sqs","prompt":"x","agent":"b"}`, `triggers[0] (a): agent "b" is unknown: the deployment has no such agent`},
		{"a tenant with a separator", `{"name":"a","source":"sqs","prompt":"x","tenant":"b#c"}`, `triggers[0] (a): tenant "b#c" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"a user with a blank", `{"name":"a","source":"sqs","prompt":"x","user":"b c"}`, `triggers[0] (a): user "b c" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`},
		{"no prompt", `{"name":"a","source":"sqs"}`, `triggers[0] (a): prompt is required`},
		{"no template", `{"name":"a","source":"sqs","prompt":"{{.x"}`, `triggers[0] (a): prompt is not a valid template: template: prompt:1: unclosed action`},
		{"an unknown function", `{"name":"a","source":"sqs","prompt":"x","thread":"{{upper .x}}"}`, `triggers[0] (a): thread is not a valid template: template: thread:1: function "upper" not defined`},
		{"a template that is too long", `{"name":"a","source":"sqs","prompt":"` + strings.Repeat("x", 16385) + `"}`, `triggers[0] (a): prompt has 16385 bytes, at most 16384 are allowed`},
		{"a schedule of another source", `{"name":"a","source":"sqs","prompt":"x","schedule":"rate(1 day)"}`, `triggers[0] (a): schedule belongs to source schedule, this is sqs`},
		{"no schedule", `{"name":"a","source":"schedule","prompt":"x","schedule":"daily"}`, `triggers[0] (a): schedule "daily" is not a schedule, want rate(5 minutes) or cron(0 9 * * ? *)`},
		{"a filter of a schedule", `{"name":"a","source":"schedule","prompt":"x","filter":{"time":["x"]}}`, `triggers[0] (a): filter has no meaning for source schedule, whose events name their trigger`},
		{"a webhook without signature", `{"name":"a","source":"webhook","prompt":"x"}`, `triggers[0] (a): webhook is required for source webhook`},
		{"a signature of another source", `{"name":"a","source":"sqs","prompt":"x","webhook":{"scheme":"github"}}`, `triggers[0] (a): webhook belongs to source webhook, this is sqs`},
		{"an unknown scheme", `{"name":"a","source":"webhook","prompt":"x","webhook":{"scheme":"none"}}`, `triggers[0] (a): webhook.scheme "none" is unknown, allowed are github, standard, slack, hmac`},
		{"a secret in the file", `{"name":"a","source":"webhook","prompt":"x","webhook":{"scheme":"github","secret":"hunter2"}}`, `triggers[0] (a): webhook.secret "hunter2" is not the name of an environment variable, allowed are A-Z 0-9 _`},
		{"a setting as a secret", `{"name":"a","source":"webhook","prompt":"x","webhook":{"scheme":"github","secret":"AWS_SECRET_ACCESS_KEY"}}`, `triggers[0] (a): webhook.secret "AWS_SECRET_ACCESS_KEY" is a setting, allowed are names that begin with neither REVEILLE_ nor AWS_`},
		{"a field twice", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":{"b":["c"],"b":["d"]}}}`, `t.json:1:79: triggers[0].filter.a.b is given twice`},
		{"no pattern", `{"name":"a","source":"sqs","prompt":"x","filter":[]}`, `triggers[0] (a): filter must be an object`},
		{"an empty pattern", `{"name":"a","source":"sqs","prompt":"x","filter":{}}`, `triggers[0] (a): filter is empty, at least one field is required`},
		{"a value without a list", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":{"b":"c"}}}`, `triggers[0] (a): filter.a.b must be a list of values and operators, or an object`},
		{"an empty list", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[]}}`, `triggers[0] (a): filter.a is empty, at least one value is required`},
		{"a list in a list", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[["b"]]}}`, `triggers[0] (a): filter.a[0] is a list within a list`},
		{"an unknown operator", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[1,{"cidr":"10.0.0.0/8"}]}}`, `triggers[0] (a): filter.a[1].cidr is an unknown operator, allowed are prefix, suffix, equals-ignore-case, exists, anything-but, numeric`},
		{"an operator of patterns", `{"name":"a","source":"sqs","prompt":"x","filter":{"$or":[{"a":[1]}]}}`, `triggers[0] (a): filter.$or is an operator that is not supported`},
		{"two operators", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[{"prefix":"b","suffix":"c"}]}}`, `triggers[0] (a): filter.a[0] has 2 operators, exactly one is allowed of prefix, suffix, equals-ignore-case, exists, anything-but, numeric`},
		{"a prefix that is no text", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[{"prefix":1}]}}`, `triggers[0] (a): filter.a[0].prefix must be a text`},
		{"an exists that is no truth", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[{"exists":"yes"}]}}`, `triggers[0] (a): filter.a[0].exists must be true or false`},
		{"half a comparison", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[{"numeric":[">"]}]}}`, `triggers[0] (a): filter.a[0].numeric must be a list of comparisons and numbers, such as [">", 0, "<=", 10]`},
		{"an unknown comparison", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[{"numeric":["!=",1]}]}}`, `triggers[0] (a): filter.a[0].numeric has != 1, allowed are =, <, <=, >, >= before a number`},
		{"anything but nothing", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[{"anything-but":[]}]}}`, `triggers[0] (a): filter.a[0].anything-but is empty, at least one value is required`},
		{"anything but an operator", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[{"anything-but":{"exists":true}}]}}`, `triggers[0] (a): filter.a[0].anything-but allows a value, a list of values, or one of prefix, suffix, equals-ignore-case`},
		{"anything but operators", `{"name":"a","source":"sqs","prompt":"x","filter":{"a":[{"anything-but":[{"prefix":"b"}]}]}}`, `triggers[0] (a): filter.a[0].anything-but has an operator in its list, allowed are values`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := setOf(&desk{preset: "demo"}, tt.text)
			if err == nil || err.Error() != tt.want || core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("got %v, code %q, want\n%s", err, core.CodeOf(err), tt.want)
			}
		})
	}
}

func TestWhatIsWrongWithAFileIsNamed(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", ``, "f:1:1: file is empty, want an object"},
		{"cut off", "{\"triggers\":[\n{\"name\":", "f:2:9: file is not JSON at byte 23: unexpected end of JSON input"},
		{"two values", `{"triggers":[]} {}`, "f:1:17: file is not JSON at byte 17: invalid character '{' after top-level value"},
		{"a list", `[]`, "f:1:1: file is a list, want an object"},
		{"no list", `{"triggers":{}}`, "f:1:13: triggers is an object, want a list"},
		{"null", `{"triggers":null}`, "f:1:13: triggers is null, want a list"},
		{"nothing", `{}`, "f:1:1: triggers is required"},
		{"something else", `{"triggers":[],"trigger":[]}`, `f:1:16: unknown field "trigger" in file, did you mean "triggers"?`},
		{"too long", strings.Repeat(" ", 1<<20+1), "f:1:1: file has 1048577 bytes, at most 1048576 are allowed"},
	}
	for _, tt := range tests {
		if _, err := parseFile("f", []byte(tt.text)); err == nil || err.Error() != tt.want || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	if all, err := parseFile("f", []byte(strings.Repeat(" ", 1<<20-15)+`{"triggers":[]}`)); err != nil || len(all) != 0 {
		t.Errorf("the longest file: %v, %v", all, err)
	}
}

func TestAFilterOfAProgramIsAsStrict(t *testing.T) {
	for filter, want := range map[string]string{
		`{"a":{"b":["c"],"b":["d"]}}`: "triggers[0] (a): filter.a.b is given twice",
		`{"a"`:                        "triggers[0] (a): filter is not JSON at byte 5: unexpected end of JSON input",
		`null`:                        "triggers[0] (a): filter must be an object",
	} {
		_, err := newSet([]trigger{{Name: "a", Source: incoming.SQS, Prompt: "x", Filter: json.RawMessage(filter)}}, Options{Runtime: &desk{preset: "demo"}, Tenant: "acme"})
		if err == nil || err.Error() != want || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s: %v, code %q, want %s", filter, err, core.CodeOf(err), want)
		}
	}
}

func TestWhoseRunItIs(t *testing.T) {
	one := []trigger{{Name: "a", Source: incoming.SQS, Prompt: "x"}}
	all := []trigger{{Name: "a", Source: incoming.SQS, Prompt: "x", Agent: "other", Tenant: "t", User: "u"}}
	tests := []struct {
		name     string
		triggers []trigger
		o        Options
		want     string
	}{
		{"as the trigger says", all, Options{Runtime: &desk{preset: "demo"}, Tenant: "acme"}, "t u other"},
		{"as the deployment says", one, Options{Runtime: &desk{preset: "demo"}, Tenant: "acme"}, "acme  demo"},
		{"everybody's", all, Options{Runtime: &desk{preset: "demo"}, Owner: &core.Identity{Tenant: "local"}}, "local  other"},
		{"no tenant", one, Options{Runtime: &desk{preset: "demo"}}, "triggers[0] (a): tenant is required: the deployment has no default tenant (REVEILLE_TENANT)"},
		{"no agent", one, Options{Runtime: &desk{}, Tenant: "acme"}, "triggers[0] (a): agent is required: the deployment has no default agent"},
	}
	for _, tt := range tests {
		s, err := newSet(tt.triggers, tt.o)
		got := fmt.Sprint(err)
		if err == nil {
			first := s.all()[0]
			got = strings.Join([]string{first.Tenant, first.User, first.Agent}, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// fire gives an event of a queue to the triggers.
func fire(t *testing.T, s *Set, id, data string) ([]mailbox.Receipt, error) {
	t.Helper()
	return s.Fire(t.Context(), incoming.Event{Source: incoming.SQS, ID: id, Data: json.RawMessage(data)})
}

func TestFilters(t *testing.T) {
	tests := []struct {
		filter    string
		want, not []string // events that it wants, and that it does not
	}{
		{`{"a":["x"]}`, []string{`{"a":"x"}`, `{"a":["y","x"]}`}, []string{`{"a":"X"}`, `{"a":"xy"}`, `{}`, `{"a":null}`, `{"a":{"x":"x"}}`, `{"b":"x"}`, `{"a":[]}`, `{"a":["y"]}`}},
		{`{"a":["x","y"],"b":[1]}`, []string{`{"a":"y","b":1}`, `{"a":"x","b":1.0}`}, []string{`{"a":"x"}`, `{"b":1}`, `{"a":"x","b":"1"}`, `{"a":"z","b":1}`}},
		{`{"a":[null]}`, []string{`{"a":null}`}, []string{`{}`, `{"a":""}`, `{"a":0}`}},
		{`{"a":[true]}`, []string{`{"a":true}`}, []string{`{"a":false}`, `{"a":"true"}`}},
		{`{"a":[0]}`, []string{`{"a":0}`, `{"a":-0.0}`}, []string{`{"a":false}`, `{"a":null}`, `{"a":"0"}`}},
		{`{"a":{"b":{"c":["x"]}}}`, []string{`{"a":{"b":{"c":"x"}}}`, `{"a":[{"b":1},{"b":{"c":"x"}}]}`}, []string{`{"a":{"b":"x"}}`, `{"a":{"c":"x"}}`, `{"a":"x"}`}},
		{`{"a":[{"prefix":"in/"}]}`, []string{`{"a":"in/x"}`, `{"a":"in/"}`}, []string{`{"a":"xin/"}`, `{"a":1}`, `{}`}},
		{`{"a":[{"suffix":".pdf"}]}`, []string{`{"a":"x.pdf"}`}, []string{`{"a":"x.pdf "}`, `{"a":"x.PDF"}`, `{}`}},
		{`{"a":[{"equals-ignore-case":"Open"}]}`, []string{`{"a":"oPEN"}`}, []string{`{"a":"opened"}`, `{}`}},
		{`{"a":[{"exists":true}]}`, []string{`{"a":1}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`}, []string{`{}`, `{"b":1}`}},
		{`{"a":[{"exists":false}]}`, []string{`{}`, `{"b":1}`}, []string{`{"a":1}`, `{"a":null}`, `{"a":[]}`}},
		{`{"a":{"b":[{"exists":false}]}}`, []string{`{}`, `{"a":{}}`, `{"a":1}`}, []string{`{"a":{"b":1}}`}},
		{`{"a":[{"anything-but":"x"}]}`, []string{`{"a":"y"}`, `{"a":1}`, `{"a":["x","y"]}`}, []string{`{"a":"x"}`, `{}`, `{"a":["x"]}`}},
		{`{"a":[{"anything-but":["x",1]}]}`, []string{`{"a":"y"}`, `{"a":2}`}, []string{`{"a":"x"}`, `{"a":1}`, `{"a":1.0}`}},
		{`{"a":[{"anything-but":{"prefix":"test-"}}]}`, []string{`{"a":"prod-1"}`, `{"a":1}`}, []string{`{"a":"test-1"}`, `{}`}},
		{`{"a":[{"numeric":[">",0,"<=",10]}]}`, []string{`{"a":10}`, `{"a":0.1}`, `{"a":[20,5]}`}, []string{`{"a":0}`, `{"a":10.1}`, `{"a":"5"}`, `{}`}},
		{`{"a":[{"numeric":["=",3]}]}`, []string{`{"a":3.0}`}, []string{`{"a":2}`}},
		{`{"a":[{"numeric":["<",3]}]}`, []string{`{"a":2}`}, []string{`{"a":3}`}},
		{`{"a":[{"numeric":[">=",3]}]}`, []string{`{"a":3}`}, []string{`{"a":2.9}`}},
		{`{"a":["x",{"prefix":"y"},{"exists":false}]}`, []string{`{"a":"x"}`, `{"a":"yy"}`, `{}`}, []string{`{"a":"z"}`}},
	}
	for _, tt := range tests {
		s := mustSet(t, &desk{preset: "demo"}, `{"name":"a","source":"sqs","prompt":"x","filter":`+tt.filter+`}`)
		for i, event := range append(tt.want, tt.not...) {
			receipts, err := fire(t, s, "1", event)
			if wants := i < len(tt.want); err != nil || wants != (len(receipts) == 1) {
				t.Errorf("%s takes %s: %v, %v; want %v", tt.filter, event, len(receipts) == 1, err, wants)
			}
		}
	}
}

func TestTemplates(t *testing.T) {
	tests := []struct{ name, template, event, want, err string }{
		{"a field", `{{.a.b}}`, `{"a":{"b":"x"}}`, "x", ""},
		{"a large number", `{{.n}}`, `{"n":12345678901234567890}`, "12345678901234567890", ""},
		{"an object", `{{.a}}`, `{"a":{"b":["<x>",1]}}`, `{"b":["<x>",1]}`, ""},
		{"a list", `{{.a}}`, `{"a":[{"b":null}]}`, `[{}]`, ""},
		{"the event", `{{.}}`, `{"b":1,"a":"x"}`, `{"a":"x","b":1}`, ""},
		{"a text as JSON", `{{json .a}}`, `{"a":"say \"hi\""}`, `"say \"hi\""`, ""},
		{"a field with a dash", `{{index . "detail-type"}}`, `{"detail-type":"x"}`, "x", ""},
		{"a list's items", `{{range .a}}{{.b}};{{end}}`, `{"a":[{"b":1},{"b":2}]}`, "1;2;", ""},
		{"asked for what is absent", `{{with index . "b"}}{{.}}{{else}}none{{end}}`, `{"a":1}`, "none", ""},
		{"a good name", `{{name .a}}`, `{"a":"x-1"}`, "x-1", ""},
		{"a bad name", `{{name .a}}`, `{"a":"a/b.c"}`, "a-b.c-c06205148f780eb7", ""},
		{"an empty name", `{{name .a}}`, `{"a":""}`, "-e3b0c44298fc1c14", ""},
		{"absent", `{{.b}}`, `{"a":1}`, "", `trigger a: prompt: template: prompt:1:2: executing "prompt" at <.b>: map has no entry for key "b"`},
		{"absent within", `{{.a.b.c}}`, `{"a":{}}`, "", `trigger a: prompt: template: prompt:1:4: executing "prompt" at <.a.b.c>: map has no entry for key "b"`},
		{"null", `{{.a}}`, `{"a":null}`, "", `trigger a: prompt: template: prompt:1:2: executing "prompt" at <.a>: map has no entry for key "a"`},
		{"empty", `{{.a}}`, `{"a":" "}`, "", `trigger a: messages[0].content has no text and no file`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &desk{preset: "demo"}
			prompt, _ := json.Marshal(tt.template)
			_, err := fire(t, mustSet(t, a, `{"name":"a","source":"sqs","prompt":`+string(prompt)+`}`), "1", tt.event)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err || core.CodeOf(err) != core.CodeInvalid || len(a.submitted) > 0 {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || a.submitted[0].Messages[0].Text() != tt.want {
				t.Errorf("got %q, %v; want %q", a.submitted[0].Messages[0].Text(), err, tt.want)
			}
		})
	}
}

func TestAPromptEndsAtItsLimit(t *testing.T) {
	a := &desk{preset: "demo"}
	s := mustSet(t, a, `{"name":"a","source":"sqs","prompt":"{{.a}}{{.a}}"}`)
	if _, err := fire(t, s, "1", `{"a":"`+strings.Repeat("x", 32768)+`"}`); err != nil || len(a.submitted[0].Messages[0].Text()) != 65536 {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := fire(t, s, "1", `{"a":"`+strings.Repeat("x", 32769)+`"}`); core.CodeOf(err) != core.CodeInvalid || err.Error() != "trigger a: prompt has more than 65536 bytes" {
		t.Errorf("beyond it: %v", err)
	}
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	if _, err := fire(t, s, "1", nested(64)); err != nil {
		t.Errorf("64 deep: %v", err)
	}
	if _, err := fire(t, s, "1", nested(65)); err == nil || err.Error() != "the event is nested more than 64 deep" {
		t.Errorf("65 deep: %v", err)
	}
}

func TestThreadsAndKeys(t *testing.T) {
	tests := []struct{ name, members, event, thread, key, err string }{
		{"by the event", ``, `{}`, "a-0d6808f66fbfe86c36cd8680d6b41b74", "trigger:a:e1", ""},
		{"by a template", `,"thread":"t-{{.n}}","key":"{{.k}}"`, `{"n":7,"k":"x/y"}`, "t-7", "trigger:a:x/y", ""},
		{"a key alone", `,"key":"{{.k}}"`, `{"k":"x/y"}`, "a-f723596c59af33981044a9b40edcaa6d", "trigger:a:x/y", ""},
		{"a thread that cannot be", `,"thread":"{{.n}}"`, `{"n":"a/b"}`, "", "", `trigger a: thread id "a/b" has the character '/', allowed are A-Z a-z 0-9 . _ : -`},
		{"an empty thread", `,"thread":"{{.n}}"`, `{"n":""}`, "", "", `trigger a: thread id is empty`},
		{"an empty key", `,"key":"{{.n}}"`, `{"n":""}`, "", "", `trigger a: key is empty`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &desk{preset: "demo"}
			_, err := fire(t, mustSet(t, a, `{"name":"a","source":"sqs","prompt":"x"`+tt.members+`}`), "e1", tt.event)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s := a.submitted[0]
			if s.Thread.Thread != tt.thread || s.Key.Value != tt.key || !s.Key.Alone || s.Origin != core.OriginInternal {
				t.Errorf("thread %s, key %s, %+v; want thread %s, key %s", s.Thread.Thread, s.Key.Value, s, tt.thread, tt.key)
			}
		})
	}
}

// One event may start several runs; one trigger's failure is not another's.
func TestEachTriggerIsTried(t *testing.T) {
	full := core.Errorf(core.CodeFull, "the thread is full")
	a := &desk{preset: "demo", refused: map[string]error{"two": full}}
	s := mustSet(t, a, `[
		{"name":"a","source":"sqs","prompt":"{{.gone}}"},
		{"name":"b","source":"sqs","prompt":"x","thread":"two"},
		{"name":"c","source":"sqs","prompt":"x","thread":"three"},
		{"name":"d","source":"sns","prompt":"x"}]`)
	receipts, err := fire(t, s, "1", `{}`)
	if len(receipts) != 1 || receipts[0].ThreadID != "three" || !errors.Is(err, full) || !strings.Contains(err.Error(), `trigger a: prompt: `) || !strings.Contains(err.Error(), "trigger b: the thread is full") {
		t.Errorf("receipts %+v, %v", receipts, err)
	}
	tests := []struct {
		name    string
		e       incoming.Event
		started int
		code    core.Code
	}{
		{"one of them alone", incoming.Event{Source: incoming.SQS, ID: "2", Trigger: "c"}, 1, ""},
		{"one of another source", incoming.Event{Source: incoming.SQS, ID: "2", Trigger: "d"}, 0, core.CodeNotFound},
		{"none", incoming.Event{Source: incoming.SQS, ID: "2", Trigger: "e"}, 0, core.CodeNotFound},
		{"nobody's source", incoming.Event{Source: incoming.S3, ID: "2"}, 0, ""},
		{"no id", incoming.Event{Source: incoming.SNS}, 0, core.CodeInvalid},
		{"no object", incoming.Event{Source: incoming.SNS, ID: "2", Data: json.RawMessage(`[]`)}, 0, core.CodeInvalid},
		{"no JSON", incoming.Event{Source: incoming.SNS, ID: "2", Data: json.RawMessage(`{`)}, 0, core.CodeInvalid},
	}
	for _, tt := range tests {
		if tt.e.Data == nil {
			tt.e.Data = json.RawMessage(`{}`)
		}
		receipts, err := s.Fire(t.Context(), tt.e)
		if len(receipts) != tt.started || core.CodeOf(err) != tt.code {
			t.Errorf("%s: %d started, %v; want %d, code %q", tt.name, len(receipts), err, tt.started, tt.code)
		}
	}
	if diff := cmp.Diff([]string{"three", "three"}, []string{a.submitted[0].Thread.Thread, a.submitted[1].Thread.Thread}); diff != "" {
		t.Error(diff)
	}
}

func FuzzFire(f *testing.F) {
	f.Add(`{"a":["x",{"prefix":"y"},{"numeric":[">",1]}]}`, `{"a":"x","b":{"c":[1,null]}}`)
	f.Add(`{"a":{"b":[{"anything-but":["x"]},{"exists":false}]}}`, `{"a":[{"b":[]}]}`)
	f.Fuzz(func(t *testing.T, filter, event string) {
		a := &desk{preset: "demo"}
		s, err := setOf(a, `{"name":"a","source":"sqs","prompt":"{{.}}","filter":`+filter+`}`)
		if err != nil {
			return
		}
		for _, tr := range s.all() {
			if tr.Name == "" {
				t.Error("a trigger without name")
			}
		}
		receipts, err := fire(t, s, "1", event)
		if err != nil && core.CodeOf(err) != core.CodeInvalid {
			t.Error(err)
		}
		if len(receipts) != len(a.submitted) {
			t.Errorf("%d receipts of %d submissions", len(receipts), len(a.submitted))
		}
	})
}

// A refused trigger is an error that goes away: the source sends the event again.
func TestATriggerThatALimitRefusesFailsAndIsTriedAgain(t *testing.T) {
	a := &desk{refused: map[string]error{"t1": &account.ReachedError{Limit: account.ConcurrentRuns, Allowed: "1", Used: "1"}}}
	s, err := setOf(a, `{"name":"a","source":"sqs","agent":"demo","tenant":"acme","thread":"t1","prompt":"go"}`)
	if err != nil {
		t.Fatal(err)
	}
	event := incoming.Event{ID: "1", Source: incoming.SQS, Data: []byte(`{}`)}
	if _, err := s.Fire(t.Context(), event); core.CodeOf(err) != core.CodeTenantLimit {
		t.Errorf("the event comes to %v, want code tenant_limit", err)
	}
	a.refused = nil
	if got, err := s.Fire(t.Context(), event); err != nil || len(got) != 1 {
		t.Errorf("again it comes to %+v, %v", got, err)
	}
}
