package plugin_test

import "github.com/reveille-run/reveille/core/plugin"

// part is a plugin that is a function.
type part struct {
	id       string
	register func(r *plugin.Registrar) error
}

func (p part) ID() string { return p.id }

func (p part) Register(r *plugin.Registrar) error { return p.register(r) }
