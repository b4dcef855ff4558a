package awsapi

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/core"
)

// Settings are the options that the clients of all services have in common.
type Settings struct {
	Region       string
	BaseEndpoint *string // nil: the region's
	Credentials  aws.CredentialsProvider
	HTTPClient   *http.Client
	Retryer      aws.Retryer
}

// Variable returns the value of an environment variable that configures a client.
func Variable(c awsenv.Config, name string) string {
	if c.Getenv == nil {
		return os.Getenv(name)
	}
	return c.Getenv(name)
}

// Read reads the settings of a service from the environment; endpoint is the name of its
// variable. If a variable is missing, or the endpoint is not a URL, the error names the
// service and the variable.
func Read(c awsenv.Config, service, endpoint string) (Settings, error) {
	getenv := func(name string) string { return Variable(c, name) }
	for _, name := range wanted(c) {
		if getenv(name) == "" {
			return Settings{}, core.Errorf(core.CodeInvalid, "%s client: environment variable %s is not set", service, name)
		}
	}
	transport := c.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 64
		transport = own
	}
	backoff := c.Backoff
	if backoff == nil {
		backoff = jitter
	}
	s := Settings{
		Region:      cmp.Or(c.Region, getenv("AWS_REGION")),
		Credentials: credentials(c),
		HTTPClient: &http.Client{
			Transport:     transport,
			Timeout:       cmp.Or(c.Timeout, 5*time.Second),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = cmp.Or(c.MaxAttempts, 3)
			o.Backoff = retry.BackoffDelayerFunc(func(retried int, _ error) (time.Duration, error) { return backoff(retried), nil })
		}),
	}
	if address := getenv(endpoint); address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return Settings{}, core.Errorf(core.CodeInvalid, "%s client: environment variable %s is not an http or https URL", service, endpoint) // not quoted: it may have a password
		}
		s.BaseEndpoint = aws.String(address)
	}
	return s, nil
}

// wanted are the variables that must be there.
func wanted(c awsenv.Config) []string {
	var names []string
	if c.Region == "" {
		names = append(names, "AWS_REGION")
	}
	if c.Credentials == nil {
		names = append(names, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
	}
	return names
}

func credentials(c awsenv.Config) aws.CredentialsProvider {
	if c.Credentials != nil {
		return c.Credentials
	}
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{
			AccessKeyID:     Variable(c, "AWS_ACCESS_KEY_ID"),
			SecretAccessKey: Variable(c, "AWS_SECRET_ACCESS_KEY"),
			SessionToken:    Variable(c, "AWS_SESSION_TOKEN"),
			Source:          "environment",
		}, nil
	})
}

func jitter(retried int) time.Duration {
	limit := min(25*time.Millisecond<<min(retried, 10), time.Second)
	return time.Duration(rand.Int64N(int64(limit)))
}
