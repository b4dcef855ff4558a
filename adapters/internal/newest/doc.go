// Package newest reads the body of a request whose client repeats a whole conversation in
// each request. It is a JSON object with a list of messages. [Read] keeps the newest of
// them, skips the older ones as they arrive, and returns an object that is otherwise the
// same. So the size of a conversation does not limit its requests, and a request takes no
// more memory than the messages that are kept.
//
// Skipped text is checked like kept text: it must be JSON and UTF-8, within the limit of
// nesting.
package newest
