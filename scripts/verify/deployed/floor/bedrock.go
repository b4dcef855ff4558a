//go:build bedrock

package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
)

// Step and stream have Bedrock's client, too, and make it when they first use it.
func init() {
	converse = func(ctx context.Context, region string, credentials aws.CredentialsProvider) error {
		client := bedrockruntime.New(bedrockruntime.Options{Region: region, Credentials: credentials})
		response, err := client.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: aws.String("m")})
		if err != nil {
			return err
		}
		return response.GetStream().Close()
	}
}
