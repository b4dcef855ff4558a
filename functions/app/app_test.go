package app_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// TestPartsResolve fails when an agent of the deployment is broken, whichever
// agents it has.
func TestPartsResolve(t *testing.T) {
	bound, err := models.Bind(env.System(), settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := app.Parts(bound.Models)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reveille.New(parts, nil); err != nil {
		t.Fatal(err)
	}
	if len(parts.Specs) == 0 {
		t.Error("the deployment has no agent")
	}
}
