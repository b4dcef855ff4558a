package gemini

import (
	"cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// expressURL is the address of Vertex AI for keys that belong to a project.
const expressURL = "https://aiplatform.googleapis.com/v1/publishers/google"

// VertexURL returns the address of Vertex AI before /models, for a project and a location:
// a region such as europe-west4, the multi-region us or eu, or global. The empty location
// is global. The error has the code invalid and names the part that has
// other characters than letters, digits, hyphens and underscores.
func VertexURL(project, location string) (string, error) {
	location = cmp.Or(location, "global")
	for _, part := range []struct{ name, value string }{{"project", project}, {"location", location}} {
		if !wire.PlainName(part.value, 64) {
			return "", core.Errorf(core.CodeInvalid, "gemini: the %s of Vertex AI is %q, want 1 to 64 of A-Z a-z 0-9 _ -", part.name, core.Excerpt(part.value))
		}
	}
	host := location + "-aiplatform.googleapis.com"
	switch location {
	case "global":
		host = "aiplatform.googleapis.com"
	case "us", "eu":
		host = "aiplatform." + location + ".rep.googleapis.com"
	}
	return "https://" + host + "/v1/projects/" + project + "/locations/" + location + "/publishers/google", nil
}

// VertexAdapter makes the client of a provider that is data, for Vertex AI with an API key:
// a value of agent.Parts.Adapters. The provider's options are "project" and "location", as
// in [VertexURL]; without a project, requests use the express mode, whose keys belong to a
// project. Package vertex has the adapter for Google's own credentials. An error has the
// code invalid.
func VertexAdapter(p agent.ProviderSpec) (model.Model, error) {
	var own struct {
		Project  string `json:"project"`
		Location string `json:"location"`
	}
	if err := wire.DecodeOptions(p.Options, &own); err != nil {
		return nil, err
	}
	base := expressURL
	switch {
	case p.BaseURL != "":
		base = p.BaseURL
	case own.Project != "":
		address, err := VertexURL(own.Project, own.Location)
		if err != nil {
			return nil, err
		}
		base = address
	case own.Location != "":
		return nil, core.Errorf(core.CodeInvalid, "gemini: options.location is %q without options.project, want both or none", core.Excerpt(own.Location))
	}
	if p.APIKey.IsZero() && p.Key == nil {
		return nil, core.Errorf(core.CodeInvalid, "gemini: Vertex AI needs an API key here, or Google's own credentials with package adapters/models/gemini/vertex")
	}
	return New(Options{APIKey: p.APIKey.Reveal(), Key: p.Key, BaseURL: base})
}
