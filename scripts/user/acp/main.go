// Command acp is the local host for an editor, which starts it and speaks the Agent
// Client Protocol with it.
//
//	go run ./scripts/user/acp
package main

import (
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/kit/local/editor"
)

func main() { editor.Main(app.Parts, models.Bind) }
