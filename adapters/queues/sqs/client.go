package sqs

import (
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/internal/awsapi"
)

// NewClient makes a client from the environment that Lambda sets; AWS_ENDPOINT_URL_SQS
// replaces the region's endpoint. A missing variable is an error that names it. An
// attempt without a response may have sent its message: the hint is then doubled, which
// does no harm. A receive may take its waiting time in addition to the timeout.
func NewClient(c awsenv.Config) (*sqs.Client, error) {
	s, err := awsapi.Read(c, "SQS", "AWS_ENDPOINT_URL_SQS")
	if err != nil {
		return nil, err
	}
	return sqs.New(sqs.Options{
		Region: s.Region, BaseEndpoint: s.BaseEndpoint, Credentials: s.Credentials, HTTPClient: s.HTTPClient, Retryer: s.Retryer,
	}), nil
}
