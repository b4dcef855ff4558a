package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/internal/awsapi"
)

// NewClient makes a client from the environment that Lambda sets;
// AWS_ENDPOINT_URL_DYNAMODB replaces the region's endpoint. A missing variable is an
// error that names it.
func NewClient(c awsenv.Config) (*dynamodb.Client, error) {
	s, err := awsapi.Read(c, "DynamoDB", "AWS_ENDPOINT_URL_DYNAMODB")
	if err != nil {
		return nil, err
	}
	return dynamodb.New(dynamodb.Options{
		Region: s.Region, BaseEndpoint: s.BaseEndpoint, Credentials: s.Credentials, HTTPClient: s.HTTPClient, Retryer: s.Retryer,
	}), nil
}
