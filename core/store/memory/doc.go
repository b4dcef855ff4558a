// Package memory is the backend that keeps everything in the memory of one
// process: for tests, examples and the simulator. It is exact where other
// backends may lag: what is due or listed is so at once.
//
// Heads are kept encoded, and payloads are copied for who reads them, so that
// nothing is shared with a reader, as if a network lay between. A written
// payload is kept as it is: its caller does not change it any more.
//
// Nothing expires: a record's Expires and a pointer's time to live allow a
// backend to forget, and this one reads no clock.
package memory
