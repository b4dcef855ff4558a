package settings

import "strconv"

// identityVariables control who may send requests to functions on AWS.
func identityVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_AUTH", Allowed: "none, iam, jwt, gateway, lambda", Unset: "required; `none` on a loopback address",
				Meaning: "The way of authentication: `none`, `iam`, `jwt`, `gateway` or `lambda`. The local host accepts `none` only.",
			},
			oneOf(func(s *Settings) *string { return &s.Auth }, "", "none", "iam", "jwt", "gateway", "lambda"),
		},
		{
			Variable{
				Name: "REVEILLE_TENANT", Allowed: "a name of A-Z a-z 0-9 . _ : -", Unset: "`local` on the local host; `public` on AWS with `none`",
				Meaning: "The tenant of all callers.",
			},
			name(func(s *Settings) *string { return &s.Identity.Tenant }),
		},
		{
			Variable{
				Name: "REVEILLE_TENANT_CLAIM", Allowed: "the name of a claim",
				Meaning: "The claim of the token, or the key of the authorizer's context, that names the tenant.",
			},
			text(func(s *Settings) *string { return &s.Identity.TenantClaim }),
		},
		{
			Variable{
				Name: "REVEILLE_USER_CLAIM", Allowed: "the name of a claim",
				Meaning: "The key of the Lambda authorizer's context that names the user.",
			},
			text(func(s *Settings) *string { return &s.Identity.UserClaim }),
		},
		{
			Variable{
				Name: "REVEILLE_TENANTS", Allowed: "ID=TENANT, separated by commas; an ID is an identity pool's, AIDA..., AROA... or an account's 12 digits",
				Meaning: "The tenants of signed requests, by the id of an identity pool, a user, a role or an account.",
			},
			tenants,
		},
	}
}

// tokenVariables describe the tokens that are accepted.
func tokenVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_ISSUER", Allowed: "an https address without query",
				Meaning: "The issuer of tokens, exactly as in their claim `iss`.",
			},
			secureAddress(func(s *Settings) *string { return &s.Identity.Issuer }),
		},
		{
			Variable{
				Name: "REVEILLE_KEYS_URL", Allowed: "an https address without query", Unset: "the issuer's address followed by `/.well-known/jwks.json`",
				Meaning: "The address where the issuer publishes its keys.",
			},
			secureAddress(func(s *Settings) *string { return &s.Identity.KeysURL }),
		},
		{
			Variable{
				Name: "REVEILLE_CLIENTS", Allowed: "client ids or audiences, separated by commas",
				Meaning: "The client ids or audiences whose tokens are accepted.",
			},
			list(func(s *Settings) *[]string { return &s.Identity.Clients }, given),
		},
		{
			Variable{
				Name: "REVEILLE_TOKEN_USE", Default: "id", Allowed: "id, access",
				Meaning: "The kind of Cognito tokens that is accepted: `id` or `access`.",
			},
			oneOf(func(s *Settings) *string { return &s.Identity.TokenUse }, "id", "access"),
		},
	}
}

// awsVariables name the resources of a deployment. template.yaml sets them.
func awsVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_TABLE", Allowed: "a table name", Unset: "required",
				Meaning: "The DynamoDB table of threads.",
			},
			text(func(s *Settings) *string { return &s.Table }),
		},
		{
			Variable{
				Name: "REVEILLE_CONFIG_TABLE", Allowed: "a table name", Unset: "required",
				Meaning: "The DynamoDB table of profiles and configuration snapshots.",
			},
			text(func(s *Settings) *string { return &s.Config }),
		},
		{
			Variable{
				Name: "REVEILLE_QUEUE_URL", Allowed: addressAllowed, Unset: "required",
				Meaning: "The address of the SQS queue of wake-ups.",
			},
			address(func(s *Settings) *string { return &s.QueueURL }),
		},
		{
			Variable{
				Name: "REVEILLE_DEAD_LETTER_QUEUE_URL", Allowed: addressAllowed,
				Meaning: "The address of the SQS queue of wake-ups that workers received five times without success. The sweep function empties this queue every minute.",
			},
			address(func(s *Settings) *string { return &s.DeadLetterURL }),
		},
		{
			Variable{
				Name: "REVEILLE_PAYLOAD_BUCKET", Allowed: "the name of a bucket",
				Meaning: "The S3 bucket of payloads larger than 32 KB.",
			},
			formed(func(s *Settings) *string { return &s.Bucket }, isBucket),
		},
		{
			Variable{
				Name: "REVEILLE_STREAM_URL", Allowed: addressAllowed,
				Meaning: "The base address of the stream function. Responses of the api function refer to it.",
			},
			address(func(s *Settings) *string { return &s.StreamURL }),
		},
		{
			Variable{
				Name: "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", Default: "256", Allowed: "a number of megabytes",
				Meaning: "The memory of the function in MB, which Lambda sets. A quarter of it, at least 8 MB, caches conversations. Go keeps at most 85 % of it, with the cache and all garbage.",
			},
			func(s *Settings, v string) error {
				megabytes, err := strconv.ParseUint(v, 10, 20)
				s.Memory = int(megabytes)
				s.CacheSize = max(smallestCache, int(megabytes)<<20/4)
				return err
			},
		},
	}
}
