package awslambda

import (
	"context"
	"encoding/json"
)

// AuthorizerKind says which authorizer of AWS let a request pass.
type AuthorizerKind string

// The kinds.
const (
	AuthorizerJWT     AuthorizerKind = "jwt"     // HTTP API; the claims of the token
	AuthorizerCognito AuthorizerKind = "cognito" // REST API; the claims of the token
	AuthorizerLambda  AuthorizerKind = "lambda"  // REST or HTTP API; the context that the function answered
	AuthorizerIAM     AuthorizerKind = "iam"     // a signed request; accessKey, accountId, callerId, userArn, userId
)

// Authorizer is what AWS verified about a request before it invoked the
// function. A value that is no string is given as its JSON text.
type Authorizer struct {
	Kind   AuthorizerKind
	Claims map[string]string
}

type authorizerKey struct{}

// AuthorizerFrom returns what was verified about the request of this context,
// inside a handler of [Stream] or [Buffered]; ok is false when no authorizer
// stands in front of the function.
func AuthorizerFrom(ctx context.Context) (a Authorizer, ok bool) {
	a, ok = ctx.Value(authorizerKey{}).(Authorizer)
	return a, ok
}

// authorizer reads the four places in which the two payload formats put claims.
func (e *httpEvent) authorizer() (Authorizer, bool) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(e.RequestContext.Authorizer, &fields) // absent or null: no fields
	if e.v2() {
		return authorizerV2(fields)
	}
	if claims, ok := objectField(fields, "claims"); ok {
		return Authorizer{AuthorizerCognito, texts(claims)}, true
	}
	if len(fields) > 0 {
		return Authorizer{AuthorizerLambda, texts(fields)}, true
	}
	if i := e.RequestContext.Identity; i.UserARN != "" {
		return Authorizer{AuthorizerIAM, map[string]string{
			"accessKey": i.AccessKey, "accountId": i.AccountID, "callerId": i.Caller, "userArn": i.UserARN, "userId": i.User,
		}}, true
	}
	return Authorizer{}, false
}

func authorizerV2(fields map[string]json.RawMessage) (Authorizer, bool) {
	if jwt, ok := objectField(fields, "jwt"); ok {
		claims, _ := objectField(jwt, "claims")
		return Authorizer{AuthorizerJWT, texts(claims)}, true
	}
	if claims, ok := objectField(fields, "lambda"); ok {
		return Authorizer{AuthorizerLambda, texts(claims)}, true
	}
	if claims, ok := objectField(fields, "iam"); ok {
		return Authorizer{AuthorizerIAM, texts(claims)}, true
	}
	return Authorizer{}, false
}

// objectField returns a field that is a JSON object and not null.
func objectField(fields map[string]json.RawMessage, name string) (map[string]json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(fields[name], &object); err != nil || object == nil {
		return nil, false
	}
	return object, true
}

// texts leaves nulls out.
func texts(fields map[string]json.RawMessage) map[string]string {
	claims := make(map[string]string, len(fields))
	for name, value := range fields {
		var text *string
		if err := json.Unmarshal(value, &text); err != nil {
			claims[name] = string(value)
		} else if text != nil {
			claims[name] = *text
		}
	}
	return claims
}
