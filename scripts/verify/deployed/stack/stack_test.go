package stack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `{
 "Parameters": {"Size": {"Type": "Number", "Default": -1}, "Topic": {"Type": "String", "Default": ""}, "Names": {"Type": "CommaDelimitedList", "Default": "a,b"}},
 "Mappings": {"Times": {"60": {"Hidden": 360}}},
 "Conditions": {
  "Limited": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Size"}, -1]}]},
  "Told": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Topic"}, ""]}]},
  "Both": {"Fn::And": [{"Condition": "Limited"}, {"Condition": "Told"}]},
  "Either": {"Fn::Or": [{"Condition": "Limited"}, {"Condition": "Told"}]}
 },
 "Resources": {
  "Dead": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::Sub": "${AWS::StackName}-dead"}}},
  "Alive": {"Type": "AWS::SQS::Queue", "Condition": "Both", "Properties": {
   "Hidden": {"Fn::FindInMap": ["Times", "60", "Hidden"]},
   "Size": {"Fn::If": ["Limited", {"Ref": "Size"}, {"Ref": "AWS::NoValue"}]},
   "List": [{"Fn::If": ["Told", "x", {"Ref": "AWS::NoValue"}]}, {"Fn::If": ["Told", {"Ref": "AWS::NoValue"}, "y"]}],
   "Dead": {"Fn::GetAtt": ["Dead", "Arn"]}, "URL": {"Ref": "Dead"}, "Names": {"Fn::Join": ["+", {"Ref": "Names"}]},
   "Host": {"Fn::Sub": ["https://${Host}/${Topic}", {"Host": {"Fn::Select": [2, {"Fn::Split": ["/", "https://example.com/a"]}]}}]}}},
  "Reader": {"Type": "AWS::Lambda::Function", "Properties": {}},
  "Live": {"Type": "AWS::Lambda::Alias", "Properties": {"FunctionName": {"Ref": "Reader"}, "Name": "live"}},
  "Mapping": {"Type": "AWS::Lambda::EventSourceMapping", "Condition": "Either", "Properties": {"FunctionName": {"Ref": "Live"}}},
  "Odd": {"Type": "AWS::Odd", "Properties": {"A": {"Fn::GetAtt": ["Dead", "Colour"]}}},
  "Other": {"Type": "AWS::Other", "Properties": {"A": {"Fn::Cidr": ["10.0.0.0/8", 1]}}}
 }}`

func TestWhatATemplateComesTo(t *testing.T) {
	tests := []struct {
		name       string
		parameters map[string]string
		kind       string
		want       map[string]string
	}{
		{"a condition that does not hold", nil, "AWS::SQS::Queue", map[string]string{"Dead": `{"QueueName":"s-dead"}`}},
		{"every function", map[string]string{"Size": "5", "Topic": "t"}, "AWS::SQS::Queue", map[string]string{
			"Dead": `{"QueueName":"s-dead"}`,
			"Alive": `{"Dead":"arn:aws:sqs:us-east-1:123456789012:s-dead","Hidden":360,"Host":"https://example.com/t","List":["x"],"Names":"a+b",` +
				`"Size":"5","URL":"https://sqs.us-east-1.amazonaws.com/123456789012/s-dead"}`,
		}},
		{"neither of two", nil, "AWS::Lambda::EventSourceMapping", map[string]string{}},
		{"one of two", map[string]string{"Topic": "t"}, "AWS::Lambda::EventSourceMapping", map[string]string{
			"Mapping": `{"FunctionName":"arn:aws:lambda:us-east-1:123456789012:function:s-Reader:live"}`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read([]byte(sample), Options{Name: "s", Parameters: tt.parameters})
			if err != nil {
				t.Fatal(err)
			}
			all, err := s.Of(tt.kind)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for id, properties := range all {
				got[id] = string(properties)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsUnknownIsNamed(t *testing.T) {
	s, err := Read([]byte(sample), Options{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{
		"AWS::Odd":   "stack: Odd: A: unknown attribute Colour of a AWS::SQS::Queue",
		"AWS::Other": "stack: Other: A: Fn::Cidr of [10.0.0.0/8 1]",
	} {
		if _, err := s.Of(kind); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
	}
	if _, err := Read([]byte(sample), Options{Parameters: map[string]string{"Colour": "red"}}); err == nil || !strings.Contains(err.Error(), "no parameter Colour") {
		t.Errorf("an unknown parameter: %v", err)
	}
}

const outer = `{
 "Parameters": {"Topic": {"Type": "String", "Default": ""}},
 "Resources": {
  "Role": {"Type": "AWS::IAM::Role", "Properties": {}},
  "Own": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "infra/own.yaml", "Parameters": {"Name": {"Ref": "AWS::StackName"}, "Role": {"Ref": "Role"}}}},
  "Dead": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "dead"}}
 }}`

const inner = `{
 "Parameters": {"Name": {"Type": "String"}, "Role": {"Type": "String"}},
 "Resources": {
  "Tickets": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::Sub": "${Name}-tickets"}, "Tag": {"Ref": "AWS::StackName"}}},
  "Orders": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Fn::Sub": "${Name}-orders"}}},
  "Use": {"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "Role"}], "Of": {"Fn::GetAtt": ["Orders", "Arn"]}}}
 }}`

func TestResourcesOfNestedStacks(t *testing.T) {
	s, err := Read([]byte(outer), Options{Name: "s", Nested: map[string][]byte{"infra/own.yaml": []byte(inner)}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, kind := range []string{"AWS::SQS::Queue", "AWS::IAM::Policy"} {
		all, err := s.Of(kind)
		if err != nil {
			t.Fatal(err)
		}
		for id, properties := range all {
			got[id] = string(properties)
		}
	}
	want := map[string]string{
		"Dead":        `{"QueueName":"dead"}`,
		"Own.Tickets": `{"QueueName":"s-tickets","Tag":"s-Own"}`,
		"Own.Use":     `{"Of":"arn:aws:dynamodb:us-east-1:123456789012:table/s-orders","Roles":["s-Role"]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for id, want := range map[string]string{"Own.Orders": "s-orders", "Own.Use": "s-Own-Use", "Dead": "dead"} {
		if name, err := s.Name(id); err != nil || name != want {
			t.Errorf("%s is called %q, %v; want %s", id, name, err, want)
		}
	}
	for _, id := range []string{"Own.Other", "Other.Orders"} {
		if _, err := s.Name(id); err == nil || !strings.Contains(err.Error(), "there is no resource") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestAParameterThatTheNestedTemplateLacksIsNamed(t *testing.T) {
	s, err := Read([]byte(outer), Options{Name: "s", Nested: map[string][]byte{"infra/own.yaml": []byte(`{"Parameters": {"Name": {"Type": "String"}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "stack: Own: stack: the template has no parameter Role"
	if _, err := s.Of("AWS::SQS::Queue"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
