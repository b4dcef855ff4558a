package environment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/functions/kit/settings"
)

const arn = "arn:aws:cloudformation:eu-north-1:123456789012:stack/agents-prod/0f1e2d3c-0000-4000-8000-000000000000"

const sample = `# Variables of tools.
GREETING=hello
TABLE = ${STACK}-orders
QUEUE=https://sqs.${REGION}.amazonaws.com/${ACCOUNT}/${STACK}-mail
LINK=https://example.com/#top?a=b
QUOTED="  two\nlines # of \"text\" "
RAW=$${STACK} $5 ${STACK}
EMPTY=

[local]
QUEUE=http://127.0.0.1/mail
GREETING=hi

[agents-prod]
GREETING=good day
`

func TestWhichValuesApply(t *testing.T) {
	common := map[string]string{"LINK": "https://example.com/#top?a=b", "QUOTED": "  two\nlines # of \"text\" ", "EMPTY": ""}
	tests := []struct {
		name, stack, region string
		has                 map[string]string // the process
		want                map[string]string // in addition to the common ones; "-": not set
	}{
		{"the local host", "", "", nil, map[string]string{"GREETING": "hi", "TABLE": "local-orders", "QUEUE": "http://127.0.0.1/mail", "RAW": "${STACK} $5 local"}},
		{"a section of the stack", arn, "eu-west-1", nil, map[string]string{
			"GREETING": "good day", "TABLE": "agents-prod-orders", "QUEUE": "https://sqs.eu-north-1.amazonaws.com/123456789012/agents-prod-mail", "RAW": "${STACK} $5 agents-prod",
		}},
		{"no section of the stack", strings.ReplaceAll(arn, "agents-prod", "agents-dev"), "", nil, map[string]string{
			"GREETING": "hello", "TABLE": "agents-dev-orders", "QUEUE": "https://sqs.eu-north-1.amazonaws.com/123456789012/agents-dev-mail", "RAW": "${STACK} $5 agents-dev",
		}},
		{"the process has some", "agents-prod", "", map[string]string{"GREETING": "servus", "QUEUE": "q", "TABLE": ""}, map[string]string{
			"GREETING": "-", "QUEUE": "-", "TABLE": "agents-prod-orders", "RAW": "${STACK} $5 agents-prod",
		}},
	}
	lines, err := parse("environment", sample)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := choose("environment", lines, placeOf(tt.stack, tt.region), func(name string) string { return tt.has[name] })
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, values := range []map[string]string{common, tt.want} {
				for name, value := range values {
					if value != "-" {
						want[name] = value
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAMistakeIsNamedWithItsLine(t *testing.T) {
	const want = "want NAME=VALUE, with a name of letters, digits and underscores that does not start with a digit"
	const prefixes = ": names that start with REVEILLE_, AWS_ or LAMBDA_ are not allowed: set parameters of the deployment, or the environment of the process"
	tests := []struct{ name, text, want string }{
		{"no sign", "A=1\nB", `app/environment:2: "B": want NAME=VALUE, [STACK] or a comment that starts with #`},
		{"no name", "=1", "app/environment:1: " + want},
		{"a digit first", "1A=1", "app/environment:1: " + want},
		{"a blank in the name", "export A=1", "app/environment:1: " + want},
		{"a name of ours", "\n\nREVEILLE_MODEL=x", "app/environment:3: name REVEILLE_MODEL" + prefixes},
		{"a name of AWS", "AWS_REGION=x", "app/environment:1: name AWS_REGION" + prefixes},
		{"a name of Lambda", "LAMBDA_TASK_ROOT=x", "app/environment:1: name LAMBDA_TASK_ROOT" + prefixes},
		{"the handler", "_HANDLER=x", "app/environment:1: name _HANDLER" + prefixes},
		{"what Go reads first", "GOGC=1", "app/environment:1: name GOGC: the runtime of Go reads this variable before it reads the file: set it in the environment of the process"},
		{"a key of a provider", "OPENAI_API_KEY=sk-1", "app/environment:1: name OPENAI_API_KEY: keys and addresses of providers do not belong here: set the parameters ModelKeySecret and ModelBaseUrl, or the environment of the process"},
		{"an address of a provider", "OLLAMA_BASE_URL=http://a", "app/environment:1: name OLLAMA_BASE_URL: keys and addresses of providers do not belong here: set the parameters ModelKeySecret and ModelBaseUrl, or the environment of the process"},
		{"twice", "A=1\nA=2", "app/environment:2: A is already in line 1: keep one of the two"},
		{"twice in a section", "A=1\n[x]\nA=2\nA=3", "app/environment:4: A is already in line 3: keep one of the two"},
		{"a section twice", "[x]\n[y]\n[x]", "app/environment:3: [x] is already in line 1: keep one of the two"},
		{"a section of no stack", "[a b]", "app/environment:1: section [a b]: want [STACK], the name of a stack in brackets, or [local] for the local host"},
		{"a section with a digit first", "[1x]", "app/environment:1: section [1x]: want [STACK], the name of a stack in brackets, or [local] for the local host"},
		{"a section that is open", "[x", "app/environment:1: section [x: want [STACK], the name of a stack in brackets, or [local] for the local host"},
		{"an empty section", "[]", "app/environment:1: section []: want [STACK], the name of a stack in brackets, or [local] for the local host"},
		{"a comment after a value", "A=5 # seconds", "app/environment:1: value of A: a comment needs a separate line: move it, or put the value into double quotes if # belongs to it"},
		{"an open quote", `A="5`, `app/environment:1: value of A: want text in double quotes up to the end of the line, in which \" is a quote, \\ a backslash and \n a line end`},
		{"text after a quote", `A="5" s`, `app/environment:1: value of A: want text in double quotes up to the end of the line, in which \" is a quote, \\ a backslash and \n a line end`},
		{"NUL", `A="\x00"`, "app/environment:1: value of A: the character NUL is not allowed"},
		{"an unknown placeholder", "[other]\nA=${HOME}", "app/environment:2: value of A: after ${ want STACK}, REGION} or ACCOUNT}: write $${ if ${ belongs to the value"},
		{"an open placeholder", "A=${STACK", "app/environment:1: value of A: after ${ want STACK}, REGION} or ACCOUNT}: write $${ if ${ belongs to the value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := parse("app/environment", tt.text); err == nil || err.Error() != tt.want {
				t.Errorf("error %v\nwant  %s", err, tt.want)
			}
		})
	}
}

func TestAPlaceThatIsNotKnownIsNamed(t *testing.T) {
	lines, err := parse("environment", "A=1\nB=${REGION}/${ACCOUNT}")
	if err != nil {
		t.Fatal(err)
	}
	for region, name := range map[string]string{"": "REGION", "eu-west-1": "ACCOUNT"} {
		want := fmt.Sprintf("environment:2: value of B: ${%s} is unknown in this process: set the variable in the section [local] or in the environment, or set REVEILLE_STACK to the ARN of a stack", name)
		if _, err := choose("environment", lines, placeOf("", region), func(string) string { return "" }); err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
}

// file writes a file of variables and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "environment")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTheVariablesOfTheProcessAreSet(t *testing.T) {
	t.Setenv("OWN_GREETING", "") // so that it is unset afterwards
	t.Setenv("OWN_TABLE", "mine")
	name := file(t, "OWN_GREETING=hello\r\nOWN_TABLE=${STACK}\r\n")
	if err := Load(settings.Settings{Environment: name}); err != nil {
		t.Fatal(err)
	}
	if got := os.Getenv("OWN_GREETING") + " " + os.Getenv("OWN_TABLE"); got != "hello mine" {
		t.Errorf("the variables are %s, want hello mine", got)
	}
}

func TestAMistakeSetsNothing(t *testing.T) {
	t.Setenv("OWN_GREETING", "")
	name := file(t, "OWN_GREETING=hello\n[other]\nx y=1\n")
	if err := Load(settings.Settings{Environment: name}); err == nil || !strings.HasPrefix(err.Error(), name+":3: ") {
		t.Errorf("error %v", err)
	}
	if got := os.Getenv("OWN_GREETING"); got != "" {
		t.Errorf("the variable is %q", got)
	}
}

func TestTheFileMayBeMissingOnlyIfNoneIsNamed(t *testing.T) {
	if err := Load(settings.Settings{}); err != nil {
		t.Error(err)
	}
	err := Load(settings.Settings{Environment: "none"})
	if want := "environment variable REVEILLE_ENVIRONMENT: open none: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestTheSizeOfTheFileIsLimited(t *testing.T) {
	if err := Load(settings.Settings{Environment: file(t, strings.Repeat("#", 65536))}); err != nil {
		t.Errorf("64 KB: %v", err)
	}
	name := file(t, strings.Repeat("#", 65537))
	if err := Load(settings.Settings{Environment: name}); err == nil || err.Error() != name+": the file has 65537 bytes, at most 65536 are allowed" {
		t.Errorf("a byte more: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("A=\"\\u12\"\n[x]\nA=$${${STACK}")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := parse("environment", text)
		if err != nil {
			return
		}
		for _, l := range lines {
			for _, stack := range []string{arn, l.section} {
				if _, err := choose("environment", lines, placeOf(stack, "r"), func(string) string { return "" }); err != nil && stack == arn {
					t.Errorf("what was read cannot be filled in: %v", err)
				}
			}
		}
	})
}

// A start reads the file once.
func BenchmarkLoad(b *testing.B) {
	text := strings.Repeat("# a comment\n", 20)
	for i := range 20 {
		text += fmt.Sprintf("VARIABLE_%d=${STACK}-value\n", i)
	}
	for b.Loop() {
		lines, err := parse("environment", text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := choose("environment", lines, placeOf(arn, ""), os.Getenv); err != nil {
			b.Fatal(err)
		}
	}
}
