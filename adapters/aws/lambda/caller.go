package lambda

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/caller"
)

// door is a front end of AWS that invokes a function with an HTTP request.
type door string

// The front ends. The payload alone does not distinguish the first two: the handler does,
// since an HTTP API never serves a stream and a Function URL never a buffered response.
const (
	doorURL  door = "function-url" // Function URL, payload format 2.0
	doorHTTP door = "http-api"     // API Gateway HTTP API, payload format 2.0
	doorREST door = "rest-api"     // API Gateway REST API, payload format 1.0
)

type doorKey struct{}

// BehindREST reports whether a request of [Handlers.Stream] or [Handlers.Buffered] came
// through an API Gateway REST API. Unlike Function URLs and HTTP APIs, a REST API adds no
// CORS headers by itself.
func BehindREST(r *http.Request) bool { return doorOf(r.Context()) == doorREST }

// doorOf returns the front end of a request, "" elsewhere.
func doorOf(ctx context.Context) door {
	d, _ := ctx.Value(doorKey{}).(door)
	return d
}

// caller returns the facts that the front end verified about the sender, nil if there are
// none or if they do not belong to this front end.
func (e *httpEvent) caller() caller.Caller {
	if e.door() == doorREST {
		return e.callerREST()
	}
	var by struct{ JWT, Lambda, IAM json.RawMessage }
	if json.Unmarshal(e.RequestContext.Authorizer, &by) != nil {
		return nil
	}
	jwt, lambda, iam := present(by.JWT), present(by.Lambda), present(by.IAM)
	switch {
	case iam && !jwt && !lambda:
		return signerV2(by.IAM, e.door())
	case e.door() == doorURL: // it has no other authorizer
		return nil
	case jwt && !lambda && !iam:
		var token struct{ Claims json.RawMessage }
		if json.Unmarshal(by.JWT, &token) == nil {
			return gatewayToken(token.Claims)
		}
	case lambda && !jwt && !iam:
		return caller.Context{Claims: claims(by.Lambda)}
	}
	return nil
}

// testStage is the stage of the console's test of a method, which runs as the user of the
// console, without an authorizer.
const testStage = "test-invoke-stage"

func (e *httpEvent) callerREST() caller.Caller {
	var fields map[string]json.RawMessage
	i := e.RequestContext.Identity
	switch err := json.Unmarshal(e.RequestContext.Authorizer, &fields); {
	case e.RequestContext.Stage == testStage, err != nil && present(e.RequestContext.Authorizer):
		return nil
	case isObject(fields["claims"]): // a Lambda authorizer's context has no objects
		return gatewayToken(fields["claims"])
	case len(fields) > 0:
		return caller.Context{Claims: claims(e.RequestContext.Authorizer)}
	case i.PoolID != "" || i.IdentityID != "":
		return caller.PoolUser{Pool: i.PoolID, Identity: i.IdentityID, Authenticated: i.AuthenticationType == "authenticated"}
	case i.User != "" || i.UserARN != "":
		return signer(i.User, i.AccountID)
	}
	return nil
}

// signerV2 reads the field "iam", which a Function URL and an HTTP API share but
// for the identity of a pool's user.
func signerV2(iam json.RawMessage, door door) caller.Caller {
	var fields struct {
		AccountID string          `json:"accountId"`
		UserID    string          `json:"userId"`
		Cognito   json.RawMessage `json:"cognitoIdentity"`
	}
	if json.Unmarshal(iam, &fields) != nil {
		return nil
	}
	if !present(fields.Cognito) {
		return signer(fields.UserID, fields.AccountID)
	}
	var user struct {
		AMR        []string `json:"amr"`
		IdentityID string   `json:"identityId"`
		PoolID     string   `json:"identityPoolId"`
	}
	if door == doorURL || json.Unmarshal(fields.Cognito, &user) != nil {
		return caller.PoolUser{}
	}
	return caller.PoolUser{Pool: user.PoolID, Identity: user.IdentityID, Authenticated: slices.Contains(user.AMR, "authenticated")}
}

// poolSession is the session name of all users of an identity pool whose role
// was taken by Cognito.
const poolSession = ":CognitoIdentityCredentials"

func signer(id, account string) caller.Caller {
	if strings.HasSuffix(id, poolSession) {
		return caller.PoolUser{} // the front end does not identify the user
	}
	return caller.Signer{ID: id, Account: account}
}

func gatewayToken(raw json.RawMessage) caller.Token {
	t := caller.Token{Claims: claims(raw)}
	if audience, ok := t.Claims["aud"]; ok {
		t.Audience = []string{audience}
	}
	return t
}

// claims keeps the fields of an object that are strings.
func claims(object json.RawMessage) caller.Claims {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(object, &fields) // no object: no claims
	return caller.Texts(fields)
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }
