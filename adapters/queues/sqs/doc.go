// Package sqs sends and receives wake-ups over Amazon SQS.
//
// A wake-up is a hint, never the truth: it may be lost, doubled, late or forged and costs
// at most one useless attempt to claim. The queue is a standard queue. The tenant is the
// MessageGroupId, so that fair queues keep one tenant's backlog from delaying the others.
// No other attribute of a message has a meaning.
//
// A deployed worker gets its messages from Lambda's event source mapping, and
// adapters/aws/lambda reads them; [Queue.Receive], [Queue.Delete] and
// [Queue.ChangeVisibility] are for hosts that poll themselves.
package sqs
