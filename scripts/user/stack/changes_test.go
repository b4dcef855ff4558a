package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDeployShowsWhatChanges by group, before it asks. Values without echo stay hidden.
func TestDeployShowsWhatChanges(t *testing.T) {
	section := func(parameters string) string { return config + "parameter_overrides = '" + parameters + "'\n" }
	const header = "environment default: stack mine, region of your AWS settings, profile of your AWS settings\n"
	tests := []struct{ name, config, deployed, want string }{
		{"nothing", config, deployed(""), "No parameter changes.\n"},
		{"a new stack", section(`Auth="jwt" Memory="512" WebhookUrl="https://secret.example"`), "", "The stack is new. These parameters differ from their defaults:\n" +
			"  auth\n    Auth: iam -> jwt\n  endpoints\n    WebhookUrl: hidden -> hidden, cannot be compared\n  limits\n    Memory: 256 -> 512\n"},
		{"a new stack with the defaults", config, "", "The stack is new. All parameters have their defaults.\n"},
		{"a stack whose first change set was not executed", section(`Memory="512"`), `{"Stacks":[{"StackStatus":"REVIEW_IN_PROGRESS"}]}`, "The stack is new. These parameters differ from their defaults:\n  limits\n    Memory: 256 -> 512\n"},
		{"each group", section(`Auth="none" Page="on" Origins="https://a.example,*" Memory="128" ScheduleExpression="rate(2 days)"`), deployed(""),
			"These parameters change:\n" +
				"  auth\n    Auth: iam -> none   LOOSENED\n    Origins: \"\" -> https://a.example,*   LOOSENED\n    Page: off -> on   LOOSENED\n" +
				"  limits\n    Memory: 256 -> 128\n  other\n    ScheduleExpression: rate(1 day) -> rate(2 days)\n"},
		{"what leaves the section", config, deployed("", "Auth=none", "Memory=512", "Origins=*", "Page=on", "ScheduleExpression=rate(1 day)", "WebhookUrl=****"),
			"These parameters change:\n  auth\n    Auth: none -> iam, the default\n    Origins: * -> \"\", the default\n    Page: on -> off, the default\n  limits\n    Memory: 512 -> 256, the default\n"},
		{"a newer template", config, deployed("", "Auth=iam", "Memory=256", "Old=5", "Release=abc", "Schema=1", "SchemaRaised=false"),
			"These parameters change:\n  auth\n    Origins: new parameter -> \"\", the default\n    Page: new parameter -> off, the default\n" +
				"  other\n    Old: 5 -> removed, the template has no such parameter\n    ScheduleExpression: new parameter -> rate(1 day), the default\n"},
		{"other tables", section(`ThreadsTable="b"`), deployed("", "Auth=iam", "ConfigTable=old", "Memory=256", "Origins=", "Page=off", "ScheduleExpression=rate(1 day)", "ThreadsTable=a"),
			"These parameters change:\n  other\n    ConfigTable: old -> \"\", the default   OTHER DATA\n    PayloadBucket: new parameter -> \"\", the default\n    ThreadsTable: a -> b   OTHER DATA\n"},
		{"what was loose before", section(`Origins="*"`), deployed("", "Auth=iam", "Memory=256", "Origins=*,https://a.example", "Page=off", "ScheduleExpression=rate(1 day)"),
			"These parameters change:\n  auth\n    Origins: *,https://a.example -> *\n"},
		{"old parameters in the file", section(`Release="x" SchemaRaised="true"`), deployed(""),
			"samconfig.toml, [default.deploy.parameters]: Release, SchemaRaised in parameter_overrides is not used any more: delete it\nNo parameter changes.\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			begin(t, "sam", "aws", "go")
			write(t, samconfig, test.config)
			write(t, "deployed", test.deployed)
			if test.name == "other tables" {
				write(t, templateFile, strings.Replace(sampleTemplate, "Parameters:\n", "Parameters:\n  ConfigTable: { Type: String, Default: \"\" }\n  PayloadBucket: { Type: String, Default: \"\" }\n  ThreadsTable: { Type: String, Default: \"\" }\n", 1))
			}
			s, said := of(t, "n\n")
			if err := s.run([]string{"deploy"}); err == nil || !strings.Contains(err.Error(), "nothing was deployed") {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(header+test.want+"Deploy to the stack mine? [y/N] ", said.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if made, _ := calls(t); len(made) != 1 {
				t.Errorf("calls %q", made)
			}
		})
	}
}

// TestWithoutATerminalChangesArePrinted, and nothing is deployed without -yes.
func TestWithoutATerminalChangesArePrinted(t *testing.T) {
	begin(t, "sam", "aws", "go")
	write(t, samconfig, config+"parameter_overrides = 'Page=on'\n")
	for _, args := range []string{"deploy", "deploy --confirm-changeset", "-yes deploy"} {
		s, said := of(t, "y\n")
		s.terminal = false
		err := s.run(strings.Fields(args))
		if want := args != "-yes deploy"; (err != nil) != want || want && !strings.Contains(err.Error(), "nothing was deployed: there is no terminal that could confirm it. Read the changes above, then repeat the command with -yes (make deploy CONFIRM=yes)") {
			t.Errorf("%s: %v", args, err)
		}
		if !strings.Contains(said.String(), "    Page: off -> on   LOOSENED\n") {
			t.Errorf("%s prints %s", args, said)
		}
	}
}

// TestParametersAreChecked before anything is built or read.
func TestParametersAreChecked(t *testing.T) {
	tests := []struct{ parameters, want string }{
		{"Auth=open", `samconfig.toml, [default.deploy.parameters]: parameter Auth is "open", want one of iam, jwt, none`},
		{"Memmory=1", "samconfig.toml, [default.deploy.parameters]: template.yaml has no parameter Memmory: correct its name or delete it"},
		{"Memory=127", `parameter Memory is "127", want 128 to 10240`},
		{"Memory=128", ""},
		{"Memory=10240", ""},
		{"Memory=10241", `parameter Memory is "10241", want 128 to 10240`},
		{"Memory=1k", `parameter Memory is "1k", want an integer`},
	}
	for _, test := range tests {
		t.Run(test.parameters, func(t *testing.T) {
			begin(t, "sam", "aws", "go")
			write(t, samconfig, config+"parameter_overrides = '"+test.parameters+"'\n")
			s, _ := of(t, "")
			err := s.run([]string{"-yes", "deploy"})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if made, _ := calls(t); err != nil && len(made) > 0 {
				t.Errorf("calls %q", made)
			}
		})
	}
}

// TestPatternsAreChecked as CloudFormation does: the whole value, and each item of a list.
func TestPatternsAreChecked(t *testing.T) {
	empty := ""
	list := parameter{Type: "CommaDelimitedList", Default: &empty, AllowedPattern: "[a-z]+"}
	hidden := parameter{Type: "String", AllowedPattern: "[a-z]+", NoEcho: true}
	for value, want := range map[string]string{"a,b": "", "a,B": `parameter X is "a,B", want the pattern [a-z]+`, "ab1": `parameter X is "ab1", want`} {
		if err := list.check("X", value); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
	if err := hidden.check("X", "SECRET"); err == nil || err.Error() != "parameter X is a hidden value, want the pattern [a-z]+" {
		t.Errorf("hidden: %v", err)
	}
	if err := (parameters{"X": hidden}).check("here", nil); err == nil || err.Error() != "here: parameter X is missing, and it has no default" {
		t.Errorf("missing: %v", err)
	}
}

// TestTheTemplateHasTheParametersOfTheGroups, and its defaults are allowed.
func TestTheTemplateHasTheParametersOfTheGroups(t *testing.T) {
	t.Chdir("../../..")
	template, err := readTemplate()
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		for _, name := range group.names {
			if _, ok := template[name]; !ok {
				t.Errorf("group %s has %s, which is not a parameter", group.title, name)
			}
		}
	}
	for name, looser := range loosened {
		if parameter, ok := template[name]; !ok || name == "Auth" && looser(*parameter.Default) {
			t.Errorf("%s is loosened, but not a parameter", name)
		}
	}
	if err := template.check("defaults", template.defaults()); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(templateFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := withComputed(text, strings.Repeat("a", 64), schema{2, true}); err != nil {
		t.Errorf("values cannot be written into the template: %v", err)
	}
}
