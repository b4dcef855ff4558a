package aisdk

import (
	"encoding/json"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// The output of running tools is sent live only: a replayed response has the results
// instead.

// output is what a call has put out so far.
type output struct {
	id   string
	text []byte
	said int // bytes of it that the client has
}

// A client takes a preliminary output as a whole each time, so that telling it of each
// piece would cost the square of what a tool puts out. Beyond the first bytes it is
// told when there is a sixteenth more: the rest comes with the next piece that
// fills it, or with the result, which replaces it all.
const (
	toldAtOnce = 2 << 10 // bytes
	toldBy     = 16
)

// toolOutput shows what a running call puts out as its output, which is not final.
func (e *encoder) toolOutput(event core.Event) {
	c := e.open(event.CallID)
	if c == nil && !slices.Contains(e.Continues, event.CallID) || c != nil && !c.ready {
		return // over, or not told of
	}
	i := slices.IndexFunc(e.outputs, func(o output) bool { return o.id == event.CallID })
	if i < 0 {
		i = len(e.outputs)
		e.outputs = append(e.outputs, output{id: event.CallID})
	}
	o := &e.outputs[i]
	o.text = append(o.text, event.Delta...)
	if o.said > toldAtOnce && len(o.text)-o.said < o.said/toldBy {
		return
	}
	o.said = len(o.text)
	text, _ := core.EncodeJSON(string(o.text)) // a string always encodes
	e.emit(chunk{Type: "tool-output-available", ToolCallID: event.CallID, Output: text, Preliminary: true})
}

// endOutput forgets what a call has put out: it has its result.
func (e *encoder) endOutput(id string) {
	e.outputs = slices.DeleteFunc(e.outputs, func(o output) bool { return o.id == id })
}

// activity is the data of an activity's chunks.
type activity struct {
	MessageID    string          `json:"messageId"`
	ActivityType string          `json:"activityType"`
	Content      json.RawMessage `json:"content,omitempty"`
	Replace      bool            `json:"replace,omitempty"`
	Patch        json.RawMessage `json:"patch,omitempty"`
}

// activity tells of what a tool works on. It is transient: a part of the message would
// come back with each later request.
func (e *encoder) activity(event core.Event) {
	data := activity{MessageID: event.MessageID, ActivityType: event.ActivityType, Replace: event.Replace}
	kind := "data-activity-delta"
	if event.Type == core.EventActivitySnapshot {
		kind, data.Content = "data-activity-snapshot", orElse(event.Content, "null")
	} else {
		data.Patch = orElse(event.Patch, "[]")
	}
	e.emit(chunk{Type: kind, ID: event.MessageID, Data: data, Transient: true})
	if event.Type == core.EventActivitySnapshot {
		e.attach(event)
	}
}

// attachment is what a chunk says of a source or file, which is a part of the message.
type attachment struct {
	SourceID  string `json:"sourceId,omitempty"`
	URL       string `json:"url,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	Title     string `json:"title,omitempty"`
	Filename  string `json:"filename,omitempty"`
}

// attach shows the activities that the protocol has parts for. One that lacks what
// such a part must have is data alone.
func (e *encoder) attach(event core.Event) {
	var a attachment
	if json.Unmarshal(event.Content, &a) != nil {
		return
	}
	if a.SourceID == "" {
		a.SourceID = event.MessageID
	}
	c := chunk{Type: event.ActivityType}
	switch {
	case c.Type == "source-url" && a.URL != "":
		c.attachment = attachment{SourceID: a.SourceID, URL: a.URL, Title: a.Title}
	case c.Type == "source-document" && a.MediaType != "" && a.Title != "":
		c.attachment = attachment{SourceID: a.SourceID, MediaType: a.MediaType, Title: a.Title, Filename: a.Filename}
	case c.Type == "file" && a.URL != "" && a.MediaType != "":
		c.attachment = attachment{URL: a.URL, MediaType: a.MediaType}
	default:
		return
	}
	e.emit(c)
}

// withMetadata is the output of a call whose result has metadata, which clients of this
// protocol see next to the data.
func withMetadata(data json.RawMessage, metadata map[string]json.RawMessage) json.RawMessage {
	if len(metadata) == 0 {
		return data
	}
	both, err := core.EncodeJSON(struct {
		Data     json.RawMessage            `json:"data"`
		Metadata map[string]json.RawMessage `json:"metadata"`
	}{data, metadata})
	if err != nil { // data that is not JSON
		return data
	}
	return both
}
