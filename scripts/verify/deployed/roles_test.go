//go:build aws

package deployed

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// texts is a string or a list of strings.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *texts) UnmarshalJSON(b []byte) error {
	var one string
	if err := json.Unmarshal(b, &one); err == nil {
		*l = texts{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

type document struct {
	Statement []struct {
		Effect           string
		Action, Resource texts
	}
}

// grants are what the function's role may do with tables, queues and the bucket, each as "ACTION
// RESOURCE".
func (d *deployment) grants(tb testing.TB, id string) []string {
	tb.Helper()
	role := d.name(tb, strings.TrimSuffix(id, "Function")+"Role")
	var documents []document
	for id, r := range properties[struct {
		Policies []struct{ PolicyDocument document }
	}](tb, d.stack, "AWS::IAM::Role") {
		for _, p := range r.Policies {
			if d.name(tb, id) == role {
				documents = append(documents, p.PolicyDocument)
			}
		}
	}
	for _, p := range properties[struct {
		Roles          []string
		PolicyDocument document
	}](tb, d.stack, "AWS::IAM::Policy") {
		if slices.Contains(p.Roles, role) {
			documents = append(documents, p.PolicyDocument)
		}
	}
	var all []string
	for _, p := range documents {
		for _, s := range p.Statement {
			for _, action := range s.Action {
				for _, resource := range s.Resource {
					if s.Effect == "Allow" && (strings.HasPrefix(action, "dynamodb:") || strings.HasPrefix(action, "sqs:") || strings.HasPrefix(action, "s3:")) {
						all = append(all, action+" "+resource)
					}
				}
			}
		}
	}
	return all
}

// byMapping is what Lambda does itself with the function's role: it feeds the function
// from a queue, and puts what failed on another.
func (d *deployment) byMapping(tb testing.TB, id string) []string {
	tb.Helper()
	var all []string
	for _, m := range properties[mapping](tb, d.stack, "AWS::Lambda::EventSourceMapping") {
		if strings.Contains(m.FunctionName, ":"+d.name(tb, id)+":") {
			for _, action := range []string{"sqs:ReceiveMessage ", "sqs:DeleteMessage ", "sqs:GetQueueAttributes "} {
				all = append(all, action+m.EventSourceArn)
			}
		}
	}
	for _, c := range properties[struct {
		FunctionName      string
		DestinationConfig struct{ OnFailure struct{ Destination string } }
	}](tb, d.stack, "AWS::Lambda::EventInvokeConfig") {
		if c.FunctionName == d.name(tb, id) && c.DestinationConfig.OnFailure.Destination != "" {
			all = append(all, "sqs:SendMessage "+c.DestinationConfig.OnFailure.Destination)
		}
	}
	return all
}

// role is what a function called beside what its role says; each as "ACTION RESOURCE".
type role struct {
	function        string
	refused, unused []string // called and not allowed; allowed and not called
	calls           int
}

// roles compares what was called with what is allowed.
func (d *deployment) roles(tb testing.TB) (all []role) {
	tb.Helper()
	for _, id := range slices.Sorted(maps.Keys(d.calls)) {
		called, grants := d.calls[id].all(), d.grants(tb, id)
		used := append(slices.Clone(called), d.byMapping(tb, id)...)
		all = append(all, role{
			function: id, calls: len(called),
			refused: slices.DeleteFunc(called, func(c string) bool { return slices.Contains(grants, c) }),
			unused:  slices.DeleteFunc(grants, func(g string) bool { return slices.Contains(used, g) }),
		})
	}
	return all
}

// spare are grants for what [TestTheTemplateWorks] does not do, with the reason, by
// function, action and resource, such as "StepFunction dynamodb:Query table/Config".
var spare = map[string]string{}

// checkRoles fails unless each function called something, nothing that its role does not
// allow, and all that it allows but for what is spare.
func (d *deployment) checkRoles(t *testing.T) {
	t.Helper()
	for _, r := range d.roles(t) {
		if r.calls == 0 {
			t.Errorf("%s called nothing", r.function)
		}
		for _, c := range r.refused {
			t.Errorf("%s may not %s", r.function, c)
		}
		for _, g := range r.unused {
			name := r.function + " " + shorter.ReplaceAllString(g, "")
			if reason, ok := spare[name]; ok {
				t.Logf("unused: %s: %s", name, reason)
			} else {
				t.Errorf("unused: %s: use it in this test, put it into spare with its reason, or take it out of the template", name)
			}
		}
	}
}

// shorter is what resources of a deployment have in common.
var shorter = regexp.MustCompile(`arn:aws:[a-z0-9]+:(` + stack.Region + `)?:(` + stack.Account + `)?:|stack[0-9]+-`)

// small is a template with one function: what its role says itself, what two further
// policies add, one of them under a condition, and what Lambda does with the role.
const small = `{
	"Parameters": {"Wide": {"Type": "String", "Default": "false"}},
	"Conditions": {"IsWide": {"Fn::Equals": [{"Ref": "Wide"}, "true"]}},
	"Resources": {
		"Threads": {"Type": "AWS::DynamoDB::Table", "Properties": {}},
		"Queue": {"Type": "AWS::SQS::Queue", "Properties": {}},
		"StepFunction": {"Type": "AWS::Lambda::Function", "Properties": {}},
		"StepRole": {"Type": "AWS::IAM::Role", "Properties": {"Policies": [{"PolicyDocument": {"Statement": [
			{"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:PutItem"], "Resource": {"Fn::GetAtt": ["Threads", "Arn"]}},
			{"Effect": "Deny", "Action": "dynamodb:DeleteItem", "Resource": {"Fn::GetAtt": ["Threads", "Arn"]}},
			{"Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": {"Fn::GetAtt": ["Queue", "Arn"]}},
			{"Effect": "Allow", "Action": "logs:PutLogEvents", "Resource": "*"}]}}]}},
		"Listing": {"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "StepRole"}], "PolicyDocument": {"Statement": [
			{"Effect": "Allow", "Action": "dynamodb:Query", "Resource": {"Fn::Sub": "${Threads.Arn}/index/due"}}]}}},
		"Sending": {"Type": "AWS::IAM::Policy", "Condition": "IsWide", "Properties": {"Roles": [{"Ref": "StepRole"}], "PolicyDocument": {"Statement": [
			{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": {"Fn::GetAtt": ["Queue", "Arn"]}}]}}},
		"Mapping": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {
			"FunctionName": "arn:aws:lambda:us-east-1:123456789012:function:small-StepFunction:live", "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]}}}
	}
}`

// A call that nothing grants is refused, whether the grant was taken away, is another
// table's, is an index's or stands under a condition that does not hold; a grant that
// was not used is listed.
func TestWhatARoleDoesNotAllowIsNamed(t *testing.T) {
	const table, queue = "arn:aws:dynamodb:us-east-1:123456789012:table/small-Threads", "arn:aws:sqs:us-east-1:123456789012:small-Queue"
	const get, put, list, send = "dynamodb:GetItem " + table, "dynamodb:PutItem " + table, "dynamodb:Query " + table + "/index/due", "sqs:SendMessage " + queue
	tests := []struct {
		name, parameter string
		without         string // what is taken out of the template
		called          []string
		refused, unused []string
	}{
		{"all that is allowed", "true", "", []string{get, put, list, send}, nil, nil},
		{"some of it", "false", "", []string{get}, nil, []string{put, list}},
		{"a grant was taken away", "false", `, "dynamodb:PutItem"`, []string{get, put, list}, []string{put}, nil},
		{"a condition does not hold", "false", "", []string{get, put, list, send}, []string{send}, nil},
		{"another table", "false", "", []string{get + "2", put, list}, []string{get + "2"}, []string{get}},
		{"the table of an index", "false", "", []string{get, put, "dynamodb:Query " + table}, []string{"dynamodb:Query " + table}, []string{list}},
		{"what is denied", "false", "", []string{get, put, list, "dynamodb:DeleteItem " + table}, []string{"dynamodb:DeleteItem " + table}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := stack.Read([]byte(strings.Replace(small, tt.without, "", 1)), stack.Options{Name: "small", Parameters: map[string]string{"Wide": tt.parameter}})
			if err != nil {
				t.Fatal(err)
			}
			called := &recorder{}
			for _, c := range tt.called {
				called.add(c)
			}
			got := (&deployment{stack: s, calls: map[string]*recorder{"StepFunction": called}}).roles(t)
			if len(got) != 1 || got[0].function != "StepFunction" || got[0].calls != len(tt.called) {
				t.Fatalf("roles are %+v", got)
			}
			if diff := cmp.Diff(tt.refused, got[0].refused, emptyIsNil); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.unused, got[0].unused, emptyIsNil); diff != "" {
				t.Errorf("unused (-want +got):\n%s", diff)
			}
		})
	}
}

var emptyIsNil = cmp.Transformer("emptyIsNil", func(l []string) []string { return append([]string(nil), l...) })
