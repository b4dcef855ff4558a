package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

// parts returns the parts of the demo agent and the tool order.
func parts(models map[string]agent.ModelBinding) (agent.Parts, error) {
	table := os.Getenv("ORDERS_TABLE")
	if table == "" {
		return agent.Parts{}, errors.New("ORDERS_TABLE is not set")
	}
	client, err := dynamo.NewClient(awsenv.Config{})
	if err != nil {
		return agent.Parts{}, err
	}
	made, err := demo.Parts(models)
	if err != nil {
		return agent.Parts{}, err
	}
	order := tool.New(tool.Spec{Name: "order", Description: "Stores an order."}, func(ctx context.Context, _ tool.Call, a struct {
		ID string `json:"id" jsonschema:"id of the order"`
	}) (tool.Result, error) {
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: a.ID}}})
		return tool.NewResult(map[string]string{"stored": a.ID}), err
	})
	made.Tools = append(made.Tools, order)
	return made, nil
}
