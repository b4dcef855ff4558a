// Command floor is the smallest function with DynamoDB and SQS, with Bedrock if it has the
// tag bedrock, and with a server of MCP if it has the tag mcp. The start-up times of the
// functions are compared with its own.
package main

import (
	"context"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// converse is a call of Bedrock, nil where it is not linked.
var converse func(ctx context.Context, region string, credentials aws.CredentialsProvider) error

// tools makes the handler of MCP, nil where it is not linked.
var tools func() http.Handler

func main() {
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}, nil
	})
	table := dynamodb.New(dynamodb.Options{Region: os.Getenv("AWS_REGION"), Credentials: credentials})
	queue := sqs.New(sqs.Options{Region: os.Getenv("AWS_REGION"), Credentials: credentials})
	lambda.Start(func(ctx context.Context) error {
		_, err := table.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String("t"), Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "k"}},
		})
		if err != nil {
			return err
		}
		_, err = table.Query(ctx, &dynamodb.QueryInput{TableName: aws.String("t")})
		if err != nil {
			return err
		}
		_, err = queue.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String("q"), MessageBody: aws.String("x")})
		if err != nil {
			return err
		}
		if tools != nil {
			tools()
		}
		if converse == nil {
			return nil
		}
		return converse(ctx, os.Getenv("AWS_REGION"), credentials)
	})
}
