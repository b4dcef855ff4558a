package sqs

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Depth is how many messages a queue has. SQS counts approximately.
type Depth struct {
	Waiting  int // can be received now
	InFlight int // are hidden, since a worker has received them
	Delayed  int // can be received later
}

// Depth reads how many messages the queue has.
func (q *Queue) Depth(ctx context.Context) (Depth, error) {
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	}
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: q.url, AttributeNames: names})
	if err != nil {
		return Depth{}, outcome("read the depth of the queue", err)
	}
	var d Depth
	for i, number := range []*int{&d.Waiting, &d.InFlight, &d.Delayed} {
		*number, _ = strconv.Atoi(out.Attributes[string(names[i])]) // missing: 0
	}
	return d, nil
}
