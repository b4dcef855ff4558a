package aisdk

import (
	"cmp"
	"fmt"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// sources are the parts for the sources of a message, each of them once: clients list them.
type sources struct {
	seen  map[source]bool
	count int
}

type source struct{ url, id, title string }

// part returns the part of a citation; false: the message has it, or it names no source. An
// address that is no link is that of a document.
func (s *sources) part(step int, a *core.Annotation) (kind string, of attachment, ok bool) {
	key := source{a.URL, a.ID, a.Title}
	if a.URL != "" {
		key = source{url: a.URL}
	}
	if s.seen[key] || key == (source{}) {
		return "", attachment{}, false
	}
	if s.seen == nil {
		s.seen = map[source]bool{}
	}
	s.seen[key] = true
	of = attachment{SourceID: fmt.Sprintf("src_%d_%d", step, s.count), Title: a.Title}
	s.count++
	if protocol.Link(a.URL) {
		of.URL = a.URL
		return "source-url", of, true
	}
	// The type is required, and providers do not say it.
	of.MediaType, of.Title = "application/octet-stream", cmp.Or(a.Title, a.ID, a.URL)
	return "source-document", of, true
}

// cite adds the sources of a text, after its blocks.
func (e *encoder) cite(event core.Event) {
	for i := range event.Annotations {
		if kind, of, ok := e.sources.part(event.Step, &event.Annotations[i]); ok {
			e.openStep()
			e.closeBlocks()
			e.emit(chunk{Type: kind, attachment: of})
		}
	}
}

// files adds the files of a result.
func (e *encoder) files(content []core.Block) {
	for _, b := range content {
		if b.Type == core.BlockFile {
			p := filePart(b)
			e.emit(chunk{Type: "file", attachment: attachment{URL: p.URL, MediaType: p.MediaType}})
		}
	}
}

// sourceParts are the parts for the sources of a turn.
func (s *sources) sourceParts(step int, content []core.Block) (parts []uiPart) {
	for i := range content {
		for j := range content[i].Annotations {
			if kind, of, ok := s.part(step, &content[i].Annotations[j]); ok {
				parts = append(parts, uiPart{Type: kind, SourceID: of.SourceID, URL: of.URL, Title: of.Title, MediaType: of.MediaType})
			}
		}
	}
	return parts
}
