package sim

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// In a part of the worlds results have files and texts have citations: both are shown to
// models, and are the same in replays and forks. Records of tight worlds have no room for
// them.

// draws adds a file to the results of some calls.
func (sc scripted) draws(r tool.Result, key string) tool.Result {
	if sc.w.config.Storage.Tight || sc.narrow() || trait(key, 91, 8) != 0 {
		return r
	}
	return r.WithFile("image/png", []byte(key))
}

// cites cites a page in some turns; false: the caller wants no more.
func (m scriptedModel) cites(s script, yield func(model.Delta, error) bool) bool {
	name := fmt.Sprintf("%s.%d", s.name, s.step)
	if m.w.config.Storage.Tight || trait(name, 92, 8) != 0 {
		return true
	}
	return yield(model.Delta{Type: model.DeltaAnnotation, Annotation: &core.Annotation{Type: core.AnnotationURL, URL: "https://" + name, End: 3}}, nil)
}
