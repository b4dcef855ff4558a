package template

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// api is what we look at of an API: its definition.
type api struct {
	Auth           any
	DefinitionBody struct {
		Components struct{ SecuritySchemes map[string]any }
		Paths      map[string]map[string]route
	}
}

// route is an operation of an API.
type route struct {
	Security    string
	Integration struct {
		Type, HTTPMethod, URI, PayloadFormatVersion, ResponseTransferMode string
		TimeoutInMillis                                                   int
	} `json:"x-amazon-apigateway-integration"`
}

// streamed is how API Gateway invokes a function whose response it passes on as it
// comes; buffered, how it waits for the whole of it.
const (
	streamed = "/2021-11-15/functions/${%s.Arn}:live/response-streaming-invocations"
	buffered = "/2015-03-31/functions/${%s.Arn}:live/invocations"
)

var invocation = regexp.MustCompile(`^!Sub arn:\$\{AWS::Partition\}:apigateway:\$\{AWS::Region\}:lambda:path(/.*\$\{(\w+)\.Arn\}.*)$`)

// function is the function that the route invokes, and the rest of the URI's path.
func (r route) function() (id, path string) {
	parts := invocation.FindStringSubmatch(r.Integration.URI)
	if parts == nil {
		return "", r.Integration.URI
	}
	return parts[2], parts[1]
}

func apis(t *testing.T, of template) map[string]api {
	t.Helper()
	all := resources[api](t, of, "AWS::Serverless::Api")
	for id, a := range resources[api](t, of, "AWS::Serverless::HttpApi") {
		all[id] = a
	}
	return all
}

// eachRoute calls f for every operation of every API.
func eachRoute(t *testing.T, of template, f func(where string, r route)) {
	t.Helper()
	for id, a := range apis(t, of) {
		for path, operations := range a.DefinitionBody.Paths {
			for method, r := range operations {
				f(id+" "+method+" "+path, r)
			}
		}
	}
}

// guarded is open where the function decides, and asks Caller elsewhere.
const guarded = `!If ["Open","!Ref AWS::NoValue",[{"Caller":[]}]]`

func TestWhatEachDoorLeadsTo(t *testing.T) {
	of := read(t)
	got := map[string]string{}
	eachRoute(t, of, func(where string, r route) {
		id, path := r.function()
		mode := "?"
		switch path {
		case strings.ReplaceAll(streamed, "%s", id):
			mode = "streamed"
		case strings.ReplaceAll(buffered, "%s", id):
			mode = "buffered"
		}
		guard := "open"
		if r.Security == guarded {
			guard = "guarded"
		} else if r.Security != "" {
			guard = r.Security
		}
		i := r.Integration
		got[where] = strings.Join([]string{guard, i.Type, i.HTTPMethod, id, mode, i.ResponseTransferMode, i.PayloadFormatVersion, strconv.Itoa(i.TimeoutInMillis)}, " ")
	})
	want := map[string]string{
		"HttpApi x-amazon-apigateway-any-method /{proxy+}": "guarded aws_proxy POST ApiFunction buffered  2.0 30000",
		"HttpApi options /{proxy+}":                        "open aws_proxy POST ApiFunction buffered  2.0 30000",
		"HttpApi post /v1/triggers/{name}":                 "open aws_proxy POST TriggerFunction buffered  2.0 30000",
		"RestApi x-amazon-apigateway-any-method /{proxy+}": "guarded aws_proxy POST StreamFunction streamed STREAM  900000",
		"RestApi options /{proxy+}":                        "open aws_proxy POST StreamFunction streamed STREAM  900000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWhoGuardsTheDoors: signatures, or what verifies tokens with Auth gateway.
func TestWhoGuardsTheDoors(t *testing.T) {
	got := map[string]any{}
	for id, a := range apis(t, read(t)) {
		if a.Auth != nil {
			t.Errorf("%s: SAM adds %v to the definition", id, a.Auth)
		}
		got[id] = a.DefinitionBody.Components.SecuritySchemes["Caller"]
	}
	want := map[string]any{
		"HttpApi": `!If ["ByGateway",{"type":"oauth2","x-amazon-apigateway-authorizer":{"identitySource":"$request.header.Authorization",` +
			`"jwtConfiguration":{"audience":"!Split [\",\",\"!Ref Clients\"]","issuer":"!Ref Issuer"},"type":"jwt"}},` +
			`{"in":"header","name":"Authorization","type":"apiKey","x-amazon-apigateway-authtype":"awsSigv4"}]`,
		"RestApi": map[string]any{
			"type": "apiKey", "name": "Authorization", "in": "header",
			"x-amazon-apigateway-authtype":   `!If ["ByGateway","cognito_user_pools","awsSigv4"]`,
			"x-amazon-apigateway-authorizer": `!If ["ByGateway",{"providerARNs":["!Ref UserPool"],"type":"cognito_user_pools"},"!Ref AWS::NoValue"]`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// permission is an AWS::Lambda::Permission.
type permission struct {
	Action, Principal, SourceArn, SourceAccount, FunctionUrlAuthType string
	InvokedViaFunctionUrl                                            bool
}

func TestNothingIsOpenUnlessItIsSaid(t *testing.T) {
	of := read(t)
	for condition, want := range map[string]string{
		"Open":      `!Or ["!Equals [\"!Ref Auth\",\"jwt\"]","!Equals [\"!Ref Auth\",\"none\"]"]`,
		"ByGateway": `!Equals ["!Ref Auth","gateway"]`,
		"HasUrl":    `!Equals ["!Ref FunctionUrl","true"]`,
		"OpenAtUrl": `!And [{"Condition":"Open"},{"Condition":"HasUrl"}]`,
	} {
		if got := of.Conditions[condition]; got != want {
			t.Errorf("condition %s is %s", condition, got)
		}
	}
	if got := of.Parameters["Auth"].Default; got != "iam" {
		t.Errorf("Auth is %v by default", got)
	}
	for id, p := range resources[permission](t, of, "AWS::Lambda::Permission") {
		switch {
		case p.Principal == "*" && of.Resources[id].Condition != "OpenAtUrl":
			t.Errorf("%s lets everybody in", id)
		case p.Principal == "*" && p.Action == "lambda:InvokeFunction" && !p.InvokedViaFunctionUrl:
			t.Errorf("%s lets everybody in past the function URL", id)
		case p.Principal != "*" && p.SourceArn == "":
			t.Errorf("%s lets %s in for any account", id, p.Principal)
		}
	}
}

// TestTheFunctionURLIsOfTheAlias: a URL of the function itself would pass by the
// versions, and would be another one after an alias is added.
func TestTheFunctionURLIsOfTheAlias(t *testing.T) {
	type address struct{ TargetFunctionArn, Qualifier, AuthType, InvokeMode string }
	of := read(t)
	got := resources[address](t, of, "AWS::Lambda::Url")
	want := map[string]address{"StreamFunctionUrl": {"!Ref StreamFunction", "live", `!If ["Open","NONE","AWS_IAM"]`, "RESPONSE_STREAM"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := of.Resources["StreamFunctionUrl"].Condition; got != "HasUrl" {
		t.Errorf("the function URL is there on condition %q", got)
	}
}

// caller is a policy document with its actions, resources and conditions.
type caller struct {
	Statement []struct {
		Effect           string
		Action, Resource texts
		Condition        map[string]map[string]string
	}
}

// TestPoliciesOfCallersAreReady: valid JSON, and no more than a caller needs. A
// function URL wants both actions; the second holds through the URL alone.
func TestPoliciesOfCallersAreReady(t *testing.T) {
	of := read(t)
	got := map[string][]string{}
	for _, id := range []string{"CallerPolicy", "ApiCallerPolicy"} {
		text, ok := strings.CutPrefix(of.Outputs[id].Value, "!Sub ")
		if !ok {
			t.Fatalf("%s is %q", id, of.Outputs[id].Value)
		}
		for _, s := range decode[caller](t, []byte(text)).Statement {
			line := s.Effect + " " + strings.Join(s.Action, ",") + " " + strings.Join(s.Resource, ",")
			for kind, values := range s.Condition {
				for key, value := range values {
					line += " if " + kind + " " + key + "=" + value
				}
			}
			got[id] = append(got[id], line)
		}
	}
	want := map[string][]string{
		"CallerPolicy": {
			"Allow lambda:InvokeFunctionUrl ${StreamFunction.Arn}:live if StringEquals lambda:FunctionUrlAuthType=AWS_IAM",
			"Allow lambda:InvokeFunction ${StreamFunction.Arn}:live if Bool lambda:InvokedViaFunctionUrl=true",
		},
		"ApiCallerPolicy": {
			"Allow execute-api:Invoke arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${RestApi}/live/*,arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${HttpApi}/*",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if a, b := of.Outputs["CallerPolicy"].Condition, of.Outputs["ApiCallerPolicy"].Condition; a != "SignedAtUrl" || b != "Signed" {
		t.Errorf("the policies are there on conditions %q and %q", a, b)
	}
}

// transferModes: what API Gateway streams has another path and a mode that belong
// together.
func transferModes(t *testing.T, of template) (found []string) {
	eachRoute(t, of, func(where string, r route) {
		_, path := r.function()
		if stream := strings.HasSuffix(path, "/response-streaming-invocations"); stream != (r.Integration.ResponseTransferMode == "STREAM") {
			found = append(found, where+": transfer mode "+strconv.Quote(r.Integration.ResponseTransferMode)+" of "+path)
		} else if date := "/2021-11-15/"; stream != strings.HasPrefix(path, date) {
			found = append(found, where+": invokes "+path)
		}
	})
	return found
}

// frontTimes: a front end must wait as long as its function may take.
func frontTimes(t *testing.T, of template) (found []string) {
	all := functions(t, of)
	eachRoute(t, of, func(where string, r route) {
		id, _ := r.function()
		f, ok := all[id]
		if !ok {
			found = append(found, where+": there is no function "+strconv.Quote(id))
			return
		}
		if timeout := slices.Max(seconds(t, of, f.Timeout)); r.Integration.TimeoutInMillis != timeout*1000 {
			found = append(found, where+": waits "+strconv.Itoa(r.Integration.TimeoutInMillis)+" ms for a function of "+strconv.Itoa(timeout)+" s")
		}
	})
	return found
}
