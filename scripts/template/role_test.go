package template

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	Version   string
	Statement []struct {
		Effect           string
		Principal        struct{ Service string }
		Action, Resource texts
		Condition        any
	}
}

type role struct {
	AssumeRolePolicyDocument document
	ManagedPolicyArns        []string
	Policies                 []struct{ PolicyDocument document }
}

func TestWhatEachRoleMayDo(t *testing.T) {
	got := map[string][]string{}
	for id, r := range resources[role](t, read(t), "AWS::IAM::Role") {
		got[id] = append(got[id], r.ManagedPolicyArns...)
		for _, policy := range r.Policies {
			for _, s := range policy.PolicyDocument.Statement {
				for _, action := range s.Action {
					for _, resource := range s.Resource {
						got[id] = append(got[id], s.Effect+" "+action+" "+resource)
					}
				}
			}
		}
		slices.Sort(got[id])
	}
	want := map[string][]string{
		"ApiRole": {
			"Allow dynamodb:GetItem !GetAtt Threads.Arn",
			"Allow dynamodb:PutItem !GetAtt Threads.Arn",
			"Allow dynamodb:Query !GetAtt Threads.Arn",
			"Allow dynamodb:Query !Sub ${Threads.Arn}/index/listed",
			"Allow dynamodb:Query !Sub ${Threads.Arn}/index/waiting",
			"Allow logs:CreateLogStream !GetAtt ApiLogs.Arn",
			"Allow logs:PutLogEvents !GetAtt ApiLogs.Arn",
			"Allow sqs:SendMessage !GetAtt Queue.Arn",
		},
		"StreamRole": {
			"Allow dynamodb:DeleteItem !GetAtt Config.Arn",
			"Allow dynamodb:GetItem !GetAtt Config.Arn",
			"Allow dynamodb:GetItem !GetAtt Threads.Arn",
			"Allow dynamodb:PutItem !GetAtt Config.Arn",
			"Allow dynamodb:PutItem !GetAtt Threads.Arn",
			"Allow dynamodb:Query !GetAtt Config.Arn",
			"Allow dynamodb:Query !GetAtt Threads.Arn",
			"Allow dynamodb:Query !Sub ${Threads.Arn}/index/listed",
			"Allow dynamodb:Query !Sub ${Threads.Arn}/index/waiting",
			"Allow logs:CreateLogStream !GetAtt StreamLogs.Arn",
			"Allow logs:PutLogEvents !GetAtt StreamLogs.Arn",
			"Allow sqs:SendMessage !GetAtt Queue.Arn",
		},
		"StepRole": {
			"Allow dynamodb:DeleteItem !GetAtt Config.Arn",
			"Allow dynamodb:DeleteItem !GetAtt Threads.Arn",
			"Allow dynamodb:GetItem !GetAtt Config.Arn",
			"Allow dynamodb:GetItem !GetAtt Threads.Arn",
			"Allow dynamodb:PutItem !GetAtt Config.Arn",
			"Allow dynamodb:PutItem !GetAtt Threads.Arn",
			"Allow dynamodb:Query !GetAtt Config.Arn",
			"Allow dynamodb:Query !GetAtt Threads.Arn",
			"Allow logs:CreateLogStream !GetAtt StepLogs.Arn",
			"Allow logs:PutLogEvents !GetAtt StepLogs.Arn",
			"Allow sqs:DeleteMessage !GetAtt Queue.Arn",
			"Allow sqs:GetQueueAttributes !GetAtt Queue.Arn",
			"Allow sqs:ReceiveMessage !GetAtt Queue.Arn",
			"Allow sqs:SendMessage !GetAtt Queue.Arn",
		},
		"SweepRole": {
			"Allow dynamodb:GetItem !GetAtt Threads.Arn",
			"Allow dynamodb:Query !Sub ${Threads.Arn}/index/due",
			"Allow logs:CreateLogStream !GetAtt SweepLogs.Arn",
			"Allow logs:PutLogEvents !GetAtt SweepLogs.Arn",
			"Allow sqs:DeleteMessage !GetAtt DeadLetterQueue.Arn",
			"Allow sqs:GetQueueAttributes !GetAtt DeadLetterQueue.Arn",
			"Allow sqs:ReceiveMessage !GetAtt DeadLetterQueue.Arn",
			"Allow sqs:SendMessage !GetAtt Queue.Arn",
		},
		"TriggerRole": {
			"Allow dynamodb:GetItem !GetAtt Threads.Arn",
			"Allow dynamodb:PutItem !GetAtt Threads.Arn",
			"Allow dynamodb:Query !GetAtt Threads.Arn",
			"Allow logs:CreateLogStream !GetAtt TriggerLogs.Arn",
			"Allow logs:PutLogEvents !GetAtt TriggerLogs.Arn",
			"Allow sqs:SendMessage !GetAtt Queue.Arn",
			"Allow sqs:SendMessage !GetAtt TriggerDeadLetterQueue.Arn",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a role may do besides is added where a parameter names the source alone, or beside
// the bucket of payloads.
func TestWhatIsAddedToRoles(t *testing.T) {
	of := read(t)
	got := map[string][]string{}
	for id, p := range resources[struct {
		Roles          []string
		PolicyDocument document
	}](t, of, "AWS::IAM::Policy") {
		for _, s := range p.PolicyDocument.Statement {
			for _, action := range s.Action {
				for _, resource := range s.Resource {
					resource, _, _ = strings.Cut(resource, ",{") // what fills it in
					got[id] = append(got[id], strings.Join([]string{of.Resources[id].Condition, strings.Join(p.Roles, " "), s.Effect, action, resource}, ": "))
				}
			}
		}
		slices.Sort(got[id])
	}
	want := map[string][]string{
		"ModelParameter": {
			`HasModelParameter: !Ref StreamRole !Ref StepRole: Allow: ssm:GetParameter: !Sub ["arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter${Name}"`,
		},
		"ModelSecret": {
			`HasModelSecret: !Ref StreamRole !Ref StepRole: Allow: secretsmanager:GetSecretValue: !Sub ["arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${Name}-??????"`,
		},
		"PayloadsErase": {
			": !Ref StepRole: Allow: s3:DeleteObject: !Sub ${Payloads.Arn}/*",
			": !Ref StepRole: Allow: s3:ListBucket: !GetAtt Payloads.Arn",
		},
		"PayloadsUse": {
			": !Ref ApiRole !Ref StreamRole !Ref StepRole !Ref TriggerRole: Allow: s3:GetObject: !Sub ${Payloads.Arn}/*",
			": !Ref ApiRole !Ref StreamRole !Ref StepRole !Ref TriggerRole: Allow: s3:PutObject: !Sub ${Payloads.Arn}/*",
		},
		"TriggerQueuePolicy": {
			"HasTriggerQueue: !Ref TriggerRole: Allow: sqs:DeleteMessage: !Ref TriggerQueue",
			"HasTriggerQueue: !Ref TriggerRole: Allow: sqs:GetQueueAttributes: !Ref TriggerQueue",
			"HasTriggerQueue: !Ref TriggerRole: Allow: sqs:ReceiveMessage: !Ref TriggerQueue",
		},
		"TriggerStreamPolicy": {
			"HasTriggerStream: !Ref TriggerRole: Allow: dynamodb:DescribeStream: !Ref TriggerStream",
			"HasTriggerStream: !Ref TriggerRole: Allow: dynamodb:GetRecords: !Ref TriggerStream",
			"HasTriggerStream: !Ref TriggerRole: Allow: dynamodb:GetShardIterator: !Ref TriggerStream",
			"HasTriggerStream: !Ref TriggerRole: Allow: dynamodb:ListStreams: !Ref TriggerStream",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is told goes to one event bus, and only where there is one.
func TestOnlyStepPutsEventsAndOnOneBus(t *testing.T) {
	type policy struct {
		RoleName       string
		PolicyDocument document
	}
	of := read(t)
	all := resources[policy](t, of, "AWS::IAM::RolePolicy")
	got := all["StepEvents"]
	s := got.PolicyDocument.Statement
	if len(all) != 1 || got.RoleName != "!Ref StepRole" || of.Resources["StepEvents"].Condition != "HasEventBus" || len(s) != 1 {
		t.Fatalf("policies %+v", all)
	}
	resource := texts{"!Sub arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/${EventBus}"}
	if s[0].Effect != "Allow" || !slices.Equal(s[0].Action, texts{"events:PutEvents"}) || !slices.Equal(s[0].Resource, resource) {
		t.Errorf("statement %+v", s[0])
	}
	if got := of.Conditions["HasEventBus"]; got != `!Not ["!Equals [\"!Ref EventBus\",\"\"]"]` {
		t.Errorf("condition HasEventBus is %s", got)
	}
}

func TestOnlyLambdaTakesRoles(t *testing.T) {
	for id, r := range resources[role](t, read(t), "AWS::IAM::Role") {
		s := r.AssumeRolePolicyDocument.Statement
		if len(s) != 1 || s[0].Principal.Service != "lambda.amazonaws.com" || !slices.Equal(s[0].Action, texts{"sts:AssumeRole"}) {
			t.Errorf("%s: %+v", id, s)
		}
	}
}

// A function without a role gets one from SAM that may write every log group and
// read every queue.
func TestEachFunctionHasItsOwnRoleAndLogs(t *testing.T) {
	type own struct {
		Role, Logs string
		Policies   any
	}
	got := map[string]own{}
	for id, f := range functions(t, read(t)) {
		got[id] = own{f.Role, f.LoggingConfig.LogGroup, f.Policies}
	}
	want := map[string]own{
		"ApiFunction":    {"!GetAtt ApiRole.Arn", "!Ref ApiLogs", nil},
		"StreamFunction": {"!GetAtt StreamRole.Arn", "!Ref StreamLogs", nil},
		"StepFunction":   {"!GetAtt StepRole.Arn", "!Ref StepLogs", nil},
		"SweepFunction":  {"!GetAtt SweepRole.Arn", "!Ref SweepLogs", nil},

		"TriggerFunction": {"!GetAtt TriggerRole.Arn", "!Ref TriggerLogs", nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLogsEnd(t *testing.T) {
	groups := resources[struct{ RetentionInDays any }](t, read(t), "AWS::Logs::LogGroup")
	if len(groups) != 5 {
		t.Errorf("%d log groups", len(groups))
	}
	for id, g := range groups {
		if g.RetentionInDays != "!Ref LogRetentionDays" {
			t.Errorf("%s keeps logs for %v days", id, g.RetentionInDays)
		}
	}
}

// door is an AWS::Lambda::Permission or the authorization of an API.
type door struct {
	Principal string
	Auth      struct{ DefaultAuthorizer, InvokeRole string }
}

func TestNothingIsOpenUnlessItIsSaid(t *testing.T) {
	of := read(t)
	if got := of.Conditions["Open"]; got != `!Or ["!Equals [\"!Ref Auth\",\"jwt\"]","!Equals [\"!Ref Auth\",\"none\"]"]` {
		t.Errorf("condition Open is %s", got)
	}
	if got := of.Parameters["Auth"].Default; got != "iam" {
		t.Errorf("Auth is %v by default", got)
	}
	for id, p := range resources[door](t, of, "AWS::Lambda::Permission") {
		if p.Principal == "*" && of.Resources[id].Condition != "Open" {
			t.Errorf("%s lets everybody in", id)
		}
	}
	for _, kind := range []string{"AWS::Serverless::Api", "AWS::Serverless::HttpApi"} {
		for id, api := range resources[door](t, of, kind) {
			if api.Auth.DefaultAuthorizer != "AWS_IAM" {
				t.Errorf("%s is authorized by %q", id, api.Auth.DefaultAuthorizer)
			}
		}
	}
	// Without it SAM calls the function as the caller, who then needs a permission
	// for the function too.
	if got := resources[door](t, of, "AWS::Serverless::Api")["RestApi"].Auth.InvokeRole; got != "NONE" {
		t.Errorf("RestApi invokes as %q", got)
	}
}
