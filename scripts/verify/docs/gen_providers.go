package main

import (
	"strconv"

	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// providerTable lists the providers of models, with the context windows of their default
// models.
func providerTable(string) (string, error) {
	known := catalog.Default()
	var rows [][]string
	for _, p := range settings.Providers() {
		window := "-"
		if facts, _ := known.Find(p.ID, p.Model); facts.ContextWindow > 0 {
			window = strconv.Itoa(facts.ContextWindow)
		}
		rows = append(rows, []string{code(p.ID, ""), key(p), code(p.URLVariable, "-"), code(p.Model, "-"), window})
	}
	return table([]string{"Provider", "Key", "Address", "Default model", "Context window"}, rows), nil
}

// key returns the variable of a provider's key.
func key(p settings.Provider) string {
	switch {
	case p.ID == "bedrock":
		return "AWS credentials"
	case p.ID == "vertex":
		return code(p.KeyVariable, "") + ", or Google's credentials"
	case p.KeyVariable == "":
		return "not needed"
	case p.Own:
		return code(p.KeyVariable, "") + ", optional"
	}
	return code(p.KeyVariable, "")
}
