package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Options are of one deployment.
type Options struct {
	Name       string            // of the stack; the names of its resources start with it
	Parameters map[string]string // in addition to the defaults; an unknown name is an error
	// QueueURL returns the URL of a queue. nil: as at AWS.
	QueueURL func(name string) string
	// Nested has the templates of nested stacks by their TemplateURL, in JSON. A nested stack
	// that is not in it has no resources.
	Nested map[string][]byte
}

// Region and Account are those of every deployment.
const (
	Region  = "us-east-1"
	Account = "123456789012"
)

// Stack is a template with values for its parameters.
type Stack struct {
	options    Options
	parameters map[string]any
	conditions map[string]any
	mappings   map[string]map[string]map[string]any
	resources  map[string]resource
	outputs    map[string]output
	rules      map[string]assertions
}

type resource struct {
	Type       string
	Condition  string
	Properties map[string]any
}

// Read reads a template in JSON, as the transform of SAM leaves it.
func Read(text []byte, o Options) (*Stack, error) {
	var template struct {
		Parameters map[string]struct {
			Type    string
			Default any
		}
		Conditions map[string]any
		Mappings   map[string]map[string]map[string]any
		Resources  map[string]resource
		Outputs    map[string]output
		Rules      map[string]assertions
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // which prints as in the template
	if err := decoder.Decode(&template); err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	s := &Stack{options: o, parameters: map[string]any{}, conditions: template.Conditions, mappings: template.Mappings, resources: template.Resources, outputs: template.Outputs, rules: template.Rules}
	unknown := maps.Clone(o.Parameters)
	for name, p := range template.Parameters {
		value := fmt.Sprint(p.Default)
		if given, ok := o.Parameters[name]; ok {
			value = given
		}
		delete(unknown, name)
		s.parameters[name] = value
		if p.Type == "CommaDelimitedList" {
			s.parameters[name] = list(value)
		}
	}
	for name := range unknown {
		return nil, fmt.Errorf("stack: the template has no parameter %s", name)
	}
	return s, nil
}

func list(value string) []any {
	var all []any
	for part := range strings.SplitSeq(value, ",") {
		all = append(all, part)
	}
	return all
}

// Of returns the resolved properties of all existing resources of a type, by logical
// id. The ids of resources of a nested stack begin with its own and a dot.
func (s *Stack) Of(kind string) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for id, r := range s.resources {
		if r.Type != kind {
			continue
		}
		there, err := s.Has(id)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		value, err := s.resolve(r.Properties)
		if err != nil {
			return nil, fmt.Errorf("stack: %s: %w", id, err)
		}
		if all[id], err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("stack: %s: %w", id, err)
		}
	}
	return all, s.ofNested(kind, all)
}

// Has reports whether a resource is there: its condition holds.
func (s *Stack) Has(id string) (bool, error) {
	r, ok := s.resources[id]
	if !ok {
		return false, fmt.Errorf("stack: there is no resource %s", id)
	}
	if r.Condition == "" {
		return true, nil
	}
	return s.holds(map[string]any{"Condition": r.Condition})
}

// naming has the property by which a template names resources of a type.
var naming = map[string]string{
	"AWS::SQS::Queue": "QueueName", "AWS::DynamoDB::Table": "TableName", "AWS::S3::Bucket": "BucketName", "AWS::SNS::Topic": "TopicName", "AWS::Events::EventBus": "Name",
}

// Name is what a resource is called: by the template, or else by its stack and id. The id may
// be one of a nested stack, as those that Of returns.
func (s *Stack) Name(id string) (string, error) {
	if strings.Contains(id, ".") {
		return s.inNested(id)
	}
	r, ok := s.resources[id]
	if !ok {
		return "", fmt.Errorf("stack: there is no resource %s", id)
	}
	if given, ok := r.Properties[naming[r.Type]]; ok {
		name, err := s.resolve(given)
		return fmt.Sprint(name), err
	}
	if r.Type == "AWS::S3::Bucket" { // has no capitals
		return strings.ToLower(s.options.Name + "-" + id), nil
	}
	return s.options.Name + "-" + id, nil
}

// reference is what Ref gives.
func (s *Stack) reference(id string) (any, error) {
	switch id {
	case "AWS::NoValue":
		return absent{}, nil
	case "AWS::Region":
		return Region, nil
	case "AWS::AccountId":
		return Account, nil
	case "AWS::Partition":
		return "aws", nil
	case "AWS::URLSuffix":
		return "amazonaws.com", nil
	case "AWS::StackName":
		return s.options.Name, nil
	case "AWS::StackId":
		return arn("cloudformation", "stack/"+s.options.Name+"/0f1e2d3c-0000-4000-8000-000000000000"), nil
	}
	if value, ok := s.parameters[id]; ok {
		return value, nil
	}
	name, err := s.Name(id)
	if err != nil {
		return nil, err
	}
	switch r := s.resources[id]; r.Type {
	case "AWS::SQS::Queue":
		if s.options.QueueURL != nil {
			return s.options.QueueURL(name), nil
		}
		return "https://sqs." + Region + ".amazonaws.com/" + Account + "/" + name, nil
	case "AWS::SNS::Topic":
		return arn("sns", name), nil
	case "AWS::Lambda::Alias":
		function, err := s.resolve(r.Properties["FunctionName"])
		return arn("lambda", "function:"+fmt.Sprint(function)+":"+fmt.Sprint(r.Properties["Name"])), err
	}
	return name, nil
}

// attribute is what Fn::GetAtt gives.
func (s *Stack) attribute(id, attribute string) (any, error) {
	name, err := s.Name(id)
	if err != nil {
		return nil, err
	}
	switch r := s.resources[id]; r.Type + " " + attribute {
	case "AWS::SQS::Queue QueueName":
		return name, nil
	case "AWS::SQS::Queue Arn":
		return arn("sqs", name), nil
	case "AWS::DynamoDB::Table Arn":
		return arn("dynamodb", "table/"+name), nil
	case "AWS::DynamoDB::Table StreamArn":
		return arn("dynamodb", "table/"+name+"/stream/2026-01-01T00:00:00.000"), nil
	case "AWS::Lambda::Function Arn":
		return arn("lambda", "function:"+name), nil
	case "AWS::IAM::Role Arn":
		return "arn:aws:iam::" + Account + ":role/" + name, nil
	case "AWS::Logs::LogGroup Arn":
		return arn("logs", "log-group:"+name+":*"), nil
	case "AWS::S3::Bucket Arn":
		return "arn:aws:s3:::" + name, nil
	case "AWS::Events::Rule Arn":
		return arn("events", "rule/"+name), nil
	case "AWS::ApiGateway::DomainName RegionalDomainName", "AWS::ApiGatewayV2::DomainName RegionalDomainName":
		return "d-" + strings.ToLower(name) + ".execute-api." + Region + ".amazonaws.com", nil
	case "AWS::ApiGateway::DomainName RegionalHostedZoneId", "AWS::ApiGatewayV2::DomainName RegionalHostedZoneId":
		return "Z1UJRXOUMOOFQ8", nil
	case "AWS::Lambda::Version Version":
		return "1", nil
	case "AWS::Lambda::Url FunctionUrl":
		return "https://" + strings.ToLower(name) + ".lambda-url." + Region + ".on.aws/", nil
	default:
		return nil, fmt.Errorf("unknown attribute %s of a %s", attribute, r.Type)
	}
}

func arn(service, resource string) string {
	return "arn:aws:" + service + ":" + Region + ":" + Account + ":" + resource
}
