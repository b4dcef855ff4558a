package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/adapters/openai"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/models"
)

func TestBind(t *testing.T) {
	bound, err := models.Bind(env.System(), models.Keys{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := bound[app.DemoModel].Model.(*scripted.Model); !ok {
		t.Errorf("without a key the model is %T", bound[app.DemoModel].Model)
	}
	bound, err = models.Bind(env.System(), models.Keys{OpenAIKey: "sk-secret", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	b := bound[app.DemoModel]
	if _, ok := b.Model.(*openai.Model); !ok || b.Name != "m" {
		t.Errorf("with a key the model is %T, its name %q", b.Model, b.Name)
	}
	_, err = models.Bind(env.System(), models.Keys{OpenAIKey: "sk-secret", OpenAIBaseURL: "ftp://x"})
	if err == nil || !strings.Contains(err.Error(), "ftp://x") || strings.Contains(fmt.Sprint(err), "sk-secret") {
		t.Errorf("a bad base URL answers %v", err)
	}
}
