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

// What roles have when the parameter of a boundary says one.
const ifBoundary = `!If ["HasBoundary","!Ref PermissionsBoundary","!Ref AWS::NoValue"]`

func TestEachRoleIsBounded(t *testing.T) {
	of := read(t)
	for id, r := range resources[struct{ PermissionsBoundary string }](t, of, "AWS::IAM::Role") {
		if r.PermissionsBoundary != ifBoundary {
			t.Errorf("%s is bounded by %q", id, r.PermissionsBoundary)
		}
	}
	// Those that SAM makes for schedules, too.
	eachEvent(t, of, "ScheduleV2", func(where string, _ function, e event) {
		if got := e.Properties.PermissionsBoundary; got != ifBoundary {
			t.Errorf("%s is bounded by %q", where, got)
		}
	})
}

type role struct {
	AssumeRolePolicyDocument document
	ManagedPolicyArns        texts
	Policies                 []inline
}

// inline is a policy of a role, or a function that decides whether there is one.
type inline struct {
	PolicyDocument document
	function       string
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *inline) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &p.function); err == nil {
		return nil
	}
	type policy inline
	return json.Unmarshal(b, (*policy)(p))
}

// The sweep writes no more than sums of what was used.
func TestTheSweepWritesInPartitionsOfUsageAlone(t *testing.T) {
	const keys = `{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["U#*","V#*","W#*"]}}`
	for _, s := range resources[role](t, read(t), "AWS::IAM::Role")["SweepRole"].Policies[0].PolicyDocument.Statement {
		if !slices.Contains(s.Action, "dynamodb:PutItem") {
			continue
		}
		if got, err := json.Marshal(s.Condition); err != nil || string(got) != keys {
			t.Errorf("it may %v on the condition %s, want %s", s.Action, got, keys)
		}
	}
}

func TestWhatEachRoleMayDo(t *testing.T) {
	got := map[string][]string{}
	for id, r := range resources[role](t, read(t), "AWS::IAM::Role") {
		got[id] = append(got[id], r.ManagedPolicyArns...)
		for _, policy := range r.Policies {
			if policy.function != "" {
				got[id] = append(got[id], policy.function)
			}
			for _, s := range policy.PolicyDocument.Statement {
				for _, action := range s.Action {
					for _, resource := range s.Resource {
						got[id] = append(got[id], s.Effect+" "+action+" "+own(resource))
					}
				}
			}
		}
		slices.Sort(got[id])
	}
	const (
		ofTools = `!If ["HasToolPolicies","!Split [\",\",\"!Ref ToolPolicyArns\"]","!Ref AWS::NoValue"]`
		inVpc   = `!If ["HasVpc",{"PolicyDocument":{"Statement":[{"Action":["ec2:AssignPrivateIpAddresses","ec2:CreateNetworkInterface","ec2:DeleteNetworkInterface",` +
			`"ec2:DescribeNetworkInterfaces","ec2:DescribeSubnets","ec2:UnassignPrivateIpAddresses"],"Effect":"Allow","Resource":"*"}],"Version":"2012-10-17"},"PolicyName":"vpc"},"!Ref AWS::NoValue"]`
	)
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
		"ReleaseRole": {"!Sub arn:${AWS::Partition}:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited"},
		"StreamRole": {
			ofTools, inVpc,
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
			ofTools, inVpc,
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
			"Allow dynamodb:DeleteItem !GetAtt Threads.Arn",
			"Allow dynamodb:GetItem !GetAtt Threads.Arn",
			"Allow dynamodb:PutItem !GetAtt Threads.Arn",
			"Allow dynamodb:Query !GetAtt Threads.Arn",
			"Allow dynamodb:Query !Sub ${Threads.Arn}/index/due",
			"Allow dynamodb:Scan !Sub ${Threads.Arn}/index/due",
			"Allow logs:CreateLogStream !GetAtt SweepLogs.Arn",
			"Allow logs:PutLogEvents !GetAtt SweepLogs.Arn",
			"Allow sqs:DeleteMessage !GetAtt DeadLetterQueue.Arn",
			"Allow sqs:ReceiveMessage !GetAtt DeadLetterQueue.Arn",
			"Allow sqs:SendMessage !GetAtt Queue.Arn",
		},
		"TriggerRole": {
			"Allow dynamodb:GetItem !GetAtt Threads.Arn",
			"Allow dynamodb:PutItem !GetAtt Threads.Arn",
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
					resource, _, _ = strings.Cut(own(resource), ",{") // what fills it in
					got[id] = append(got[id], strings.Join([]string{of.Resources[id].Condition, strings.Join(p.Roles, " "), s.Effect, action, resource}, ": "))
				}
			}
		}
		slices.Sort(got[id])
	}
	const all = "!Ref ApiRole !Ref StreamRole !Ref StepRole !Ref SweepRole !Ref TriggerRole"
	want := map[string][]string{
		"HookSecret": {
			`HasWebhookSecret: !Ref StepRole: Allow: secretsmanager:GetSecretValue: !Sub ["arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${Name}-??????"`,
		},
		"TriggerHookSecret": {
			`HasTriggerWebhookSecret: !Ref TriggerRole: Allow: secretsmanager:GetSecretValue: !Sub ["arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${Name}-??????"`,
		},
		"ModelParameter": {
			`HasModelParameter: !Ref StreamRole !Ref StepRole: Allow: ssm:GetParameter: !Sub ["arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter${Name}"`,
		},
		"ModelSecret": {
			`HasModelSecret: !Ref StreamRole !Ref StepRole: Allow: secretsmanager:GetSecretValue: !Sub ["arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${Name}-??????"`,
		},
		"Bedrock": {
			`HasBedrockModels: !Ref StreamRole !Ref StepRole: Allow: bedrock:InvokeModelWithResponseStream: !Split [",","!Join [\"\",[\"arn:*:bedrock:*:*:inference-profile/*.\",\"!Join [\\\",arn:*:bedrock:*:*:inference-profile/*.\\\",\\\"!Ref BedrockModels\\\"]\"]]"]`,
			`HasBedrockModels: !Ref StreamRole !Ref StepRole: Allow: bedrock:InvokeModelWithResponseStream: !Split [",","!Join [\"\",[\"arn:*:bedrock:*::foundation-model/\",\"!Join [\\\",arn:*:bedrock:*::foundation-model/\\\",\\\"!Ref BedrockModels\\\"]\"]]"]`,
			"HasBedrockModels: !Ref StreamRole !Ref StepRole: Allow: bedrock:InvokeModelWithResponseStream: !Sub arn:${AWS::Partition}:bedrock:${AWS::Region}:${AWS::AccountId}:application-inference-profile/*",
		},
		"PayloadsErase": {
			": !Ref StepRole: Allow: s3:DeleteObject: !Sub ${Payloads.Arn}/*",
			": !Ref StepRole: Allow: s3:ListBucket: !GetAtt Payloads.Arn",
		},
		"PayloadsUse": {
			": !Ref ApiRole !Ref StreamRole !Ref StepRole !Ref TriggerRole: Allow: s3:GetObject: !Sub ${Payloads.Arn}/*",
			": !Ref ApiRole !Ref StreamRole !Ref StepRole !Ref TriggerRole: Allow: s3:PutObject: !Sub ${Payloads.Arn}/*",
		},
		"KeyAccess": {
			"HasKey: " + all + ": Allow: kms:Decrypt: !Ref KeyArn",
			"HasKey: " + all + ": Allow: kms:DescribeKey: !Ref KeyArn",
			"HasKey: " + all + ": Allow: kms:Encrypt: !Ref KeyArn",
			"HasKey: " + all + ": Allow: kms:GenerateDataKey*: !Ref KeyArn",
			"HasKey: " + all + ": Allow: kms:ReEncrypt*: !Ref KeyArn",
		},
		"TraceAccess": { // X-Ray has no resources
			"Traced: " + all + ": Allow: xray:PutTelemetryRecords: *",
			"Traced: " + all + ": Allow: xray:PutTraceSegments: *",
		},
		"LimitsPolicy": {
			"HasLimits: " + all + ": Allow: dynamodb:UpdateItem: !GetAtt Threads.Arn",
		},
		"SweepLimitsPolicy": {
			"HasLimits: !Ref SweepRole: Allow: dynamodb:Query: !Sub ${Threads.Arn}/index/listed",
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

func TestWhoTakesRoles(t *testing.T) {
	for id, r := range resources[role](t, read(t), "AWS::IAM::Role") {
		service := "lambda.amazonaws.com"
		if id == "ReleaseRole" {
			service = "codedeploy.amazonaws.com"
		}
		s := r.AssumeRolePolicyDocument.Statement
		if len(s) != 1 || s[0].Principal.Service != service || !slices.Equal(s[0].Action, texts{"sts:AssumeRole"}) {
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
	groups := resources[struct {
		RetentionInDays any
		KmsKeyId        string
	}](t, read(t), "AWS::Logs::LogGroup")
	if len(groups) != 6 {
		t.Errorf("%d log groups", len(groups))
	}
	for id, g := range groups {
		if g.RetentionInDays != "!Ref LogRetentionDays" {
			t.Errorf("%s keeps logs for %v days", id, g.RetentionInDays)
		}
		if g.KmsKeyId != ifKey {
			t.Errorf("%s is encrypted with %q", id, g.KmsKeyId)
		}
	}
}
