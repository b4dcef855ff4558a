//go:build aws

package deployed

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// edges are the bounds and addresses of a deployment, as "RESOURCE PROPERTY VALUE".
func edges(t *testing.T, text []byte, parameters map[string]string) (lines []string) {
	t.Helper()
	s, err := stack.Read(text, stack.Options{Name: "agents", Parameters: parameters})
	if err != nil {
		t.Fatal(err)
	}
	note := func(id, name string, value any) {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, id+" "+name+" "+strings.ReplaceAll(string(encoded), `"`, ""))
	}
	for id, p := range properties[map[string]any](t, s, "AWS::Lambda::Function") {
		if reserved, ok := p["ReservedConcurrentExecutions"]; ok {
			note(id, "ReservedConcurrentExecutions", reserved)
		}
	}
	for _, kind := range []string{
		"AWS::ApiGateway::Stage MethodSettings", "AWS::ApiGatewayV2::Stage DefaultRouteSettings",
		"AWS::ApiGateway::DomainName DomainName", "AWS::ApiGatewayV2::DomainName DomainName", "AWS::ApiGatewayV2::DomainName DomainNameConfigurations",
		"AWS::ApiGateway::BasePathMapping RestApiId", "AWS::ApiGatewayV2::ApiMapping ApiId", "AWS::ApiGatewayV2::ApiMapping DomainName",
		"AWS::Route53::RecordSet Name", "AWS::Route53::RecordSet AliasTarget",
	} {
		kind, name, _ := strings.Cut(kind, " ")
		for id, p := range properties[map[string]any](t, s, kind) {
			note(id, name, p[name])
		}
	}
	address, err := s.Output("ApiUrl")
	if err != nil {
		t.Fatal(err)
	}
	lines = append(lines, "ApiUrl is "+address)
	slices.Sort(lines)
	return lines
}

// The template, after the transform of SAM, bounds Stream and the APIs, and gives each API its
// own domain.
func TestTheEdgesOfADeployment(t *testing.T) {
	text := transform(t)
	standard := map[string]string{
		"Stream": "StreamFunction ReservedConcurrentExecutions 100",
		"Rest":   "RestApiliveStage MethodSettings [{HttpMethod:*,ResourcePath:/*,ThrottlingBurstLimit:200,ThrottlingRateLimit:100}]",
		"Http":   "HttpApiApiGatewayDefaultStage DefaultRouteSettings {ThrottlingBurstLimit:200,ThrottlingRateLimit:100}",
		"Url":    "ApiUrl is https://agents-HttpApi.execute-api.us-east-1.amazonaws.com",
	}
	tests := []struct {
		name       string
		parameters map[string]string
		change     map[string]string // of the standard lines; empty: none
		add        []string
	}{
		{name: "the defaults"},
		{name: "an account with a small quota", parameters: map[string]string{"StreamReserved": "-1"}, change: map[string]string{"Stream": ""}},
		{name: "a smaller bound", parameters: map[string]string{"StreamReserved": "20"}, change: map[string]string{"Stream": "StreamFunction ReservedConcurrentExecutions 20"}},
		{name: "Step too", parameters: map[string]string{"StepReserved": "60"}, add: []string{"StepFunction ReservedConcurrentExecutions 60"}},
		{
			name: "other rates", parameters: map[string]string{"RequestRate": "7", "RequestBurst": "9"},
			change: map[string]string{
				"Rest": "RestApiliveStage MethodSettings [{HttpMethod:*,ResourcePath:/*,ThrottlingBurstLimit:9,ThrottlingRateLimit:7}]",
				"Http": "HttpApiApiGatewayDefaultStage DefaultRouteSettings {ThrottlingBurstLimit:9,ThrottlingRateLimit:7}",
			},
		},
		{
			name: "a domain for webhooks", parameters: map[string]string{"WebhookDomainName": "hooks.example.com", "WebhookCertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/1"},
			change: map[string]string{"Url": "ApiUrl is https://hooks.example.com"},
			add: []string{
				"WebhookDomain DomainName hooks.example.com",
				"WebhookDomain DomainNameConfigurations [{CertificateArn:arn:aws:acm:us-east-1:123456789012:certificate/1,EndpointType:REGIONAL,SecurityPolicy:TLS_1_2}]",
				"WebhookDomainMapping ApiId agents-HttpApi", "WebhookDomainMapping DomainName agents-WebhookDomain",
			},
		},
		{
			name: "both domains in one zone",
			parameters: map[string]string{
				"DomainName": "agents.example.com", "CertificateArn": "arn:1", "WebhookDomainName": "hooks.example.com", "WebhookCertificateArn": "arn:2", "HostedZoneId": "Z123",
			},
			change: map[string]string{"Url": "ApiUrl is https://hooks.example.com"},
			add: []string{
				"Domain DomainName agents.example.com", "DomainMapping RestApiId agents-RestApi",
				"DomainRecord Name agents.example.com", "DomainRecord AliasTarget {DNSName:d-agents-domain.execute-api.us-east-1.amazonaws.com,HostedZoneId:Z1UJRXOUMOOFQ8}",
				"WebhookDomain DomainName hooks.example.com", "WebhookDomain DomainNameConfigurations [{CertificateArn:arn:2,EndpointType:REGIONAL,SecurityPolicy:TLS_1_2}]",
				"WebhookDomainMapping ApiId agents-HttpApi", "WebhookDomainMapping DomainName agents-WebhookDomain",
				"WebhookDomainRecord Name hooks.example.com", "WebhookDomainRecord AliasTarget {DNSName:d-agents-webhookdomain.execute-api.us-east-1.amazonaws.com,HostedZoneId:Z1UJRXOUMOOFQ8}",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := maps.Clone(standard)
			maps.Copy(lines, tt.change)
			var want []string
			for _, line := range lines {
				if line != "" {
					want = append(want, line)
				}
			}
			want = append(want, tt.add...)
			slices.Sort(want)
			if diff := cmp.Diff(want, edges(t, text, tt.parameters)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A deployment with contradictory domains is refused before anything is created.
func TestContradictoryDomainsAreRefused(t *testing.T) {
	text := transform(t)
	tests := []struct {
		name       string
		parameters map[string]string
		want       []string
	}{
		{name: "none"},
		{"no certificate", map[string]string{"WebhookDomainName": "hooks.example.com"}, []string{"WebhookDomainName needs WebhookCertificateArn."}},
		{"no name", map[string]string{"WebhookCertificateArn": "arn:1"}, []string{"WebhookCertificateArn needs WebhookDomainName."}},
		{
			"one name for both", map[string]string{"DomainName": "a.example.com", "CertificateArn": "arn:1", "WebhookDomainName": "a.example.com", "WebhookCertificateArn": "arn:1"},
			[]string{"WebhookDomainName and DomainName are the same name, but each API needs its own."},
		},
		{"whole", map[string]string{"WebhookDomainName": "hooks.example.com", "WebhookCertificateArn": "arn:1"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := stack.Read(text, stack.Options{Name: "agents", Parameters: tt.parameters})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Refusals()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
