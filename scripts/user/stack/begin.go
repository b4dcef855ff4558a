package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// question is one of the questions of a first deployment.
type question struct {
	name   string // of a parameter, or stack_name or region
	text   string
	answer string // by default
	// asked reports whether the answers so far need this one. nil: always.
	asked func(answers map[string]string) bool
	// want checks an answer in addition to the template. nil: no further check.
	want *regexp.Regexp
}

// questions are the six that decide where the stack is, who may call it and whether it works:
//
//   - the name of the stack and its region, which cannot change later,
//   - Auth, who may call, with the values that the answer makes necessary,
//   - Model and ModelKeySecret, without which agents use the scripted model,
//   - AlarmTopic, without which no alarm reaches a person.
//
// Every other parameter has a default that works, and can change with any deployment.
func questions(name, region string) []question {
	tokens := answered("Auth", "jwt", "gateway")
	return []question{
		{name: "stack_name", text: "Name of the stack", answer: name, want: regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,127}$`)},
		{name: "region", text: "AWS region, such as eu-north-1", answer: region, want: regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)},
		{name: "Auth", text: "Accepted callers: iam (signed requests), jwt or gateway (bearer tokens), lambda (your authorizer), none (all callers)", answer: "iam"},
		{name: "Issuer", text: "Issuer of tokens, such as https://cognito-idp.REGION.amazonaws.com/POOL", asked: tokens, want: something},
		{name: "Clients", text: "Accepted client ids or audiences, separated by commas", asked: tokens, want: something},
		{name: "UserPool", text: "ARN of the Cognito user pool whose tokens the REST API accepts", asked: answered("Auth", "gateway"), want: something},
		{name: "TenantClaim", text: "Claim that names the tenant. Empty: all callers have one tenant", asked: answered("Auth", "jwt", "gateway", "lambda")},
		{name: "Tenant", text: "Tenant of all callers", answer: "default", asked: func(answers map[string]string) bool { return answers["Auth"] != "iam" && answers["TenantClaim"] == "" }, want: something},
		{name: "Model", text: "Model as PROVIDER/NAME, such as anthropic/claude-haiku-5-5. Empty: the scripted model"},
		{name: "ModelKeySecret", text: "Name of the Secrets Manager secret with the key of the provider. Empty: none", asked: needsKey},
		{name: "AlarmTopic", text: "ARN of an SNS topic for alarms. Empty: none", want: regexp.MustCompile(`^(arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]+)?$`)},
	}
}

var something = regexp.MustCompile(`.`)

// answered reports whether a question has one of these answers.
func answered(name string, values ...string) func(map[string]string) bool {
	return func(answers map[string]string) bool {
		for _, value := range values {
			if answers[name] == value {
				return true
			}
		}
		return false
	}
}

// needsKey reports whether the model's provider needs a key. Bedrock uses the role of the function.
func needsKey(answers map[string]string) bool {
	model := answers["Model"]
	return model != "" && model != "scripted" && !strings.HasPrefix(model, "bedrock/")
}

// begin asks for the settings of a new environment, writes its section and selects it. The rest
// of the file stays as it is, byte by byte.
func (s *stack) begin(template parameters) error {
	if s.env.deploys {
		return fmt.Errorf("%s, %s: stack_name is missing: add stack_name = \"NAME\"", samconfig, s.env.section())
	}
	if !s.terminal || s.yes {
		return fmt.Errorf("%s has no section %s, it has %v, and there is no terminal to ask for its settings. Write the section, such as:\n\n%s", samconfig, s.env.section(), s.withStacks(), sample(s.env.name))
	}
	fmt.Fprintf(s.out, "%s has no section for the environment %s, it has %v. These answers create it. Enter keeps the value in brackets, Ctrl-C ends without a change.\n", samconfig, s.env.name, s.withStacks())
	name := s.name
	if name == "" {
		name = stackName(s.env.name)
	}
	answers, asked, err := s.ask(template, questions(name, or(s.env.region, os.Getenv("AWS_REGION"))))
	if err != nil {
		return err
	}
	if err := appendSection(s.env.name, asked, answers); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s has the new section %s.\n", samconfig, s.env.section())
	s.name = "" // the answer counts, even if -stack proposed another name
	return s.choose(s.env.name, true)
}

// ask returns the answers by name, and the questions that were asked.
func (s *stack) ask(template parameters, all []question) (answers map[string]string, asked []question, err error) {
	answers = map[string]string{}
	for _, q := range all {
		if _, ok := template[q.name]; !ok && q.name != "stack_name" && q.name != "region" {
			continue // a template of the user without it
		}
		if q.asked != nil && !q.asked(answers) {
			continue
		}
		for {
			typed, err := s.line(fmt.Sprintf("%s: %s [%s] ", q.name, q.text, q.answer))
			if err != nil {
				return nil, nil, fmt.Errorf("nothing was written: the input ended before the answer for %s", q.name)
			}
			answer := or(typed, q.answer)
			if err := q.check(template, answer); err != nil {
				fmt.Fprintf(s.out, "  %v\n", err)
				continue
			}
			answers[q.name], asked = answer, append(asked, q)
			break
		}
	}
	return answers, asked, nil
}

// check returns an error if the answer is not allowed.
func (q question) check(template parameters, answer string) error {
	if parameter, ok := template[q.name]; ok {
		if err := parameter.check(q.name, answer); err != nil {
			return err
		}
	}
	if q.want != nil && !q.want.MatchString(answer) {
		return fmt.Errorf("%s is %q, want the pattern %v", q.name, answer, q.want)
	}
	return nil
}

// stackName proposes a name: that of the folder, and of the environment if it is not default.
func stackName(env string) string {
	folder, err := os.Getwd()
	if err != nil {
		folder = "agents"
	}
	name := strings.Trim(regexp.MustCompile(`[^A-Za-z0-9-]+`).ReplaceAllString(filepath.Base(folder), "-"), "-0123456789")
	if name == "" {
		name = "agents"
	}
	if env != "default" {
		name += "-" + strings.ReplaceAll(env, "_", "-")
	}
	return name
}

// appendSection adds the section to samconfig.toml. It writes nothing if the file would not
// contain these answers then.
func appendSection(env string, asked []question, answers map[string]string) error {
	before, err := os.ReadFile(samconfig)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	text := string(before)
	switch {
	case text == "":
		text = "version = 0.1\n"
	case !strings.HasSuffix(text, "\n"):
		text += "\n"
	}
	text += "\n" + section(env, asked, answers)
	all, err := readEnvironments(text)
	if err != nil {
		return fmt.Errorf("nothing was written: the section cannot be added: %w", err)
	}
	for _, q := range asked {
		stored, ok := all[env].parameters[q.name]
		switch q.name {
		case "stack_name":
			stored, ok = all[env].stack, true
		case "region":
			stored, ok = all[env].region, true
		}
		if !ok || stored != answers[q.name] {
			return fmt.Errorf("nothing was written: the answer for %s cannot be stored", q.name)
		}
	}
	return os.WriteFile(samconfig, []byte(text), 0o644)
}

// section is the text of a section. Each parameter follows its question.
func section(env string, asked []question, answers map[string]string) string {
	var b strings.Builder
	command := "make deploy"
	if env != "default" {
		command += " ENV=" + env
	}
	fmt.Fprintf(&b, "# Environment %s: %s takes exactly these settings.\n[%s.deploy.parameters]\n", env, command, env)
	fmt.Fprintf(&b, "stack_name = %q\nregion = %q\n", answers["stack_name"], answers["region"])
	b.WriteString("resolve_s3 = true # the packages are in a bucket of the SAM CLI\nfail_on_empty_changeset = false # a deployment without a change succeeds\n")
	b.WriteString("# " + templateFile + " describes all parameters. Those that are missing here have their defaults.\nparameter_overrides = [\n")
	for _, q := range asked {
		if q.name == "stack_name" || q.name == "region" {
			continue
		}
		one := q.name + `="` + strings.ReplaceAll(answers[q.name], `"`, `\"`) + `"`
		quoted := "'" + one + "'"
		if strings.Contains(one, "'") {
			quoted = strconv.Quote(one)
		}
		fmt.Fprintf(&b, "    # %s\n    %s,\n", q.text, quoted)
	}
	b.WriteString("]\n")
	return b.String()
}

// sample is a section with the smallest number of settings.
func sample(env string) string {
	answers := map[string]string{"stack_name": stackName(env), "region": or(os.Getenv("AWS_REGION"), "eu-north-1"), "Auth": "iam"}
	asked := []question{{name: "Auth", text: "Accepted callers: iam, jwt, gateway, lambda or none"}}
	return "version = 0.1\n\n" + section(env, asked, answers)
}
