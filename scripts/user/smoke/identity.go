package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// endpoints are the hosts of AWS that take signed requests, with the region and the service
// of the signature.
var endpoints = []struct {
	host    *regexp.Regexp
	service string
}{
	{regexp.MustCompile(`^[a-z0-9]+\.lambda-url\.([a-z0-9-]+)\.on\.aws$`), "lambda"},
	{regexp.MustCompile(`^[a-z0-9]+\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$`), "execute-api"},
}

// identity returns a function that adds credentials to a request: a token, a signature, or
// none, if the address is not on AWS.
func identity(address string, getenv func(string) string) (func(*http.Request, []byte) error, error) {
	if token := getenv("SMOKE_TOKEN"); token != "" {
		return func(r *http.Request, _ []byte) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("-url: %w", err)
	}
	for _, endpoint := range endpoints {
		m := endpoint.host.FindStringSubmatch(u.Hostname())
		if m == nil {
			continue
		}
		key := aws.Credentials{AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN")}
		if !key.HasKeys() {
			return nil, fmt.Errorf("%s requires signed requests or tokens: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or SMOKE_TOKEN", u.Host)
		}
		return sign(key, endpoint.service, m[1]), nil
	}
	return func(*http.Request, []byte) error { return nil }, nil
}

// sign returns a function that signs requests for a service.
func sign(key aws.Credentials, service, region string) func(*http.Request, []byte) error {
	signer := v4.NewSigner()
	return func(r *http.Request, body []byte) error {
		sum := sha256.Sum256(body)
		hash := hex.EncodeToString(sum[:])
		r.Header.Set("X-Amz-Content-Sha256", hash)
		return signer.SignHTTP(r.Context(), key, r, hash, service, region, time.Now())
	}
}
