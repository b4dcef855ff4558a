package providers

import (
	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/core/model"
)

// google is the Gemini API.
func google(c connection) (model.Model, error) {
	if err := c.decode(&struct{}{}); err != nil {
		return nil, err
	}
	return made(gemini.New(gemini.Options{APIKey: c.key.Reveal(), Key: c.source, BaseURL: c.baseURL}))
}
