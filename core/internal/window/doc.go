// Package window chooses how much of a conversation a model is shown: the
// newest turns, up to a budget of tokens. A tool call and its results are never
// parted. A step that finds nothing in its process's memory reads no more of the
// log than this needs.
package window
