//go:build aws

package deployed

// contexts are requests whose claims the gateway or an authorizer has verified, and events
// of endpoints that have no such authorizer.
func contexts(i *issuer) []attempt {
	http := func(claims string) string { return `"authorizer":{"jwt":{"claims":` + claims + `,"scopes":null}}` }
	rest := func(claims string) string { return `"authorizer":{"claims":` + claims + `}` }
	lambda := func(context string) string { return `"authorizer":{"lambda":` + context + `}` }
	claims := func(more string) string {
		return `{"iss":"` + i.url + `","aud":"app","sub":"ann","tenant":"acme","exp":"1795237980"` + more + `}`
	}
	const forged = `"x-golambdaproxy-apigw-context":"{\"authorizer\":{\"jwt\":{\"claims\":{\"sub\":\"ann\",\"tenant\":\"acme\"}}}}"`
	return []attempt{
		{"ann's claims", "gateway api", v2("t-ann", http(claims(``)), ``), 200},
		{"ann's claims, through a REST API", "gateway", v1("t-ann", rest(claims(``)), ``), 200},
		{"another user's claims", "gateway api", v2("t-ann", http(claims(`,"sub":"bob"`)), ``), 404},
		{"claims of another tenant", "gateway api", v2("t-ann", http(claims(`,"tenant":"globex"`)), ``), 404},
		{"another user's claims and a forged header", "gateway api", v2("t-ann", http(claims(`,"sub":"bob"`)), forged), 404},
		{"a forged header alone", "gateway api", v2("t-ann", unverified, forged), 401},
		{"a forged header at a Function URL", "gateway", v2("t-ann", unverified, forged), 401},
		{"claims at a Function URL", "gateway", v2("t-ann", http(claims(``)), ``), 401},
		{"claims of another issuer", "gateway api", v2("t-ann", http(claims(`,"iss":"https://other.example"`)), ``), 401},
		{"claims of no issuer", "gateway api", v2("t-ann", http(claims(`,"iss":null`)), ``), 401},
		{"claims for another client", "gateway api", v2("t-ann", http(claims(`,"aud":"other"`)), ``), 401},
		{"claims of an access token", "gateway", v1("t-ann", rest(claims(`,"token_use":"access","client_id":"app"`)), ``), 401},
		{"claims without tenant", "gateway api", v2("t-ann", http(claims(`,"tenant":null`)), ``), 401},
		{"claims of a list of tenants", "gateway api", v2("t-ann", http(claims(`,"tenant":"[acme globex]"`)), ``), 401},
		{"claims of a tenant that is a number", "gateway api", v2("t-ann", http(claims(`,"tenant":7`)), ``), 401},
		{"claims without user", "gateway api", v2("t-ann", http(claims(`,"sub":""`)), ``), 401},
		{"claims and two tokens", "gateway", v1("t-ann", rest(claims(``)), `"Authorization":["Bearer a","Bearer b"]`), 401},
		{"claims in the place of a REST API", "gateway api", v2("t-ann", rest(claims(``)), ``), 401},
		{"the context of a Lambda authorizer", "gateway api", v2("t-ann", lambda(`{"sub":"ann","tenant":"acme","user":"ann"}`), ``), 401},
		{"a signed request", "gateway api", v2("t-ann", `"authorizer":{"iam":{"accountId":"222233334444","userId":"AIDA1","userArn":"a"}}`, ``), 401},
		{"nothing", "gateway api", v2("t-ann", unverified, ``), 401},

		{"ann's context", "lambda api", v2("t-ann", lambda(`{"user":"ann","tenant":"acme"}`), ``), 200},
		{"ann's context, through a REST API", "lambda", v1("t-ann", `"authorizer":{"principalId":"p","integrationLatency":3,"user":"ann","tenant":"acme"}`, ``), 200},
		{"another user's context", "lambda api", v2("t-ann", lambda(`{"user":"bob","tenant":"acme"}`), ``), 404},
		{"a context of another tenant", "lambda api", v2("t-ann", lambda(`{"user":"ann","tenant":"globex"}`), ``), 404},
		{"a context of a tenant that is a number", "lambda api", v2("t-ann", lambda(`{"user":"ann","tenant":7}`), ``), 401},
		{"a context without tenant", "lambda api", v2("t-ann", lambda(`{"user":"ann","tenant":null}`), ``), 401},
		{"a context without user", "lambda api", v2("t-ann", lambda(`{"tenant":"acme","principalId":"ann"}`), ``), 401},
		{"a context at a Function URL", "lambda", v2("t-ann", lambda(`{"user":"ann","tenant":"acme"}`), ``), 401},
		{"claims of a gateway", "lambda api", v2("t-ann", http(`{"user":"ann","tenant":"acme"}`), ``), 401},
		{"nothing", "lambda api", v2("t-ann", unverified, ``), 401},
	}
}

// signers are signed requests: of users, roles and their sessions, accounts, and users of
// identity pools.
func signers() []attempt {
	url := func(id, account, arn string) string {
		return `"authorizer":{"iam":{"accountId":"` + account + `","callerId":"` + id + `","userArn":"` + arn + `","userId":"` + id + `","cognitoIdentity":null}}`
	}
	http := func(amr, pool, identity string) string {
		return `"authorizer":{"iam":{"accountId":"222233334444","userId":"AROA1:CognitoIdentityCredentials","cognitoIdentity":{"amr":["` + amr + `"],"identityId":"` + identity + `","identityPoolId":"` + pool + `"}}}`
	}
	rest := func(kind, pool string) string {
		return `"identity":{"accountId":"222233334444","cognitoIdentityId":"us-east-1:5b2c","cognitoIdentityPoolId":"` + pool + `","cognitoAuthenticationType":"` + kind + `","user":"AROA1:CognitoIdentityCredentials","userArn":"a"}`
	}
	const own, partner = "111122223333", "222233334444"
	const user, role = "arn:aws:iam::111122223333:user/x", "arn:aws:sts::111122223333:assumed-role/R/s"
	return []attempt{
		{"a user", "iam", v2("t-user", url("AIDA1", own, user), ``), 200},
		{"a user, through an HTTP API", "iam api", v2("t-user", url("AIDA1", own, user), ``), 200},
		{"a user, through a REST API", "iam", v1("t-user", `"stage":"live","identity":{"accountId":"111122223333","caller":"AIDA1","user":"AIDA1","userArn":"a"}`, ``), 200},
		{"a session of a role", "iam", v2("t-role", url("AROA1:bob", own, role), ``), 200},
		{"another session of the role", "iam", v2("t-role", url("AROA1:eve", own, role), ``), 200},
		{"a session with the name of a user, as the role", "iam", v2("t-role", url("AROA1:AIDA1", own, role), ``), 200},
		{"a session with the name of a user, as the user", "iam", v2("t-user", url("AROA1:AIDA1", own, role), ``), 404},
		{"a session with the name of an owner", "iam", v2("t-ann", url("AROA1:ann", own, role), ``), 404},
		{"an ARN with the name of a user", "iam", v2("t-user", url("AROA1:x", own, "arn:aws:sts::111122223333:assumed-role/AIDA1/AIDA1"), ``), 404},
		{"a user of another tenant", "iam", v2("t-user", url("AIDA2", own, user), ``), 404},
		{"a user without tenant", "iam", v2("t-user", url("AIDA9", own, user), ``), 403},
		{"a user of an account with a tenant", "iam", v2("t-user", url("AIDA9", partner, user), ``), 404},
		{"the id of a user in small letters", "iam", v2("t-user", url("aida1", partner, user), ``), 403},
		{"the root user", "iam", v2("t-user", url(partner, partner, "arn:aws:iam::222233334444:root"), ``), 403},
		{"a federated user with the name of a user", "iam", v2("t-user", url(partner+":AIDA1", partner, "arn:aws:sts::222233334444:federated-user/AIDA1"), ``), 403},
		{"an id with a character of records", "iam", v2("t-user", url("AIDA1#x", partner, user), ``), 403},
		{"no id", "iam", v2("t-user", url("", partner, user), ``), 403},
		{"a user of a pool at a Function URL", "iam", v2("t-role", url("AROA1:CognitoIdentityCredentials", own, role), ``), 403},
		{"a user of a pool", "iam api", v2("t-pool", http("authenticated", pool, "us-east-1:5b2c"), ``), 200},
		{"another user of the pool", "iam api", v2("t-pool", http("authenticated", pool, "us-east-1:ffff"), ``), 404},
		{"a user of the pool, as its role", "iam api", v2("t-role", http("authenticated", pool, "us-east-1:5b2c"), ``), 404},
		{"a guest of the pool", "iam api", v2("t-pool", http("unauthenticated", pool, "us-east-1:5b2c"), ``), 401},
		{"a user of another pool", "iam api", v2("t-pool", http("authenticated", otherPool, "us-east-1:5b2c"), ``), 403},
		{"a user of a pool, through a REST API", "iam", v1("t-pool", rest("authenticated", pool), ``), 200},
		{"a guest of the pool, through a REST API", "iam", v1("t-pool", rest("unauthenticated", pool), ``), 401},
		{"a user of another pool, through a REST API", "iam", v1("t-pool", rest("authenticated", otherPool), ``), 403},
		{"the console's test of a REST API", "iam", v1("t-user", `"stage":"test-invoke-stage","identity":{"accountId":"222233334444","user":"AIDA1","userArn":"a"}`, ``), 401},
		{"nothing", "iam", v2("t-user", unverified, ``), 401},
		{"nothing, through a REST API", "iam", v1("t-user", unverified, ``), 401},
		{"headers of a signature", "iam", v2("t-user", unverified, `"authorization":"AWS4-HMAC-SHA256 Credential=AIDA1/20261129/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=00","x-amz-security-token":"t"`), 401},
		{"claims of a gateway", "iam api", v2("t-user", `"authorizer":{"jwt":{"claims":{"sub":"iam:AIDA1","tenant":"acme"}}}`, ``), 401},
		{"the context of a Lambda authorizer", "iam api", v2("t-user", `"authorizer":{"lambda":{"userId":"AIDA1","user":"AIDA1","tenant":"acme"}}`, ``), 401},
	}
}
