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
