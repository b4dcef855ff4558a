// Package eventbridge publishes announcements of runs to an EventBridge event bus: the
// source is "reveille", the detail type is the announcement's, such as "run.ended", and
// the detail is its JSON with the id by which receivers drop duplicates.
//
// It makes one call, PutEvents, and signs it with the SDK's signer, which every function
// links already. The service's own client would add more to each start of the function
// than it saves here.
package eventbridge
