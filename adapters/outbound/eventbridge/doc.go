// Package eventbridge publishes announcements of runs to an EventBridge event bus: the
// source is "reveille", the detail type is the announcement's, such as "run.ended", and
// the detail is its JSON with the id by which receivers drop duplicates.
//
// It signs the one call that it makes, PutEvents, itself with the SDK's signer, which
// every function links already: the service's own client would cost each start of the
// function more than it saves here.
package eventbridge
