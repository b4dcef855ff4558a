package model_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/model"
)

func TestARequestAcceptsFilesByTheInputsOfItsModel(t *testing.T) {
	for _, tt := range []struct {
		inputs []string
		kind   string
		want   bool
	}{
		{nil, "image/png", true},
		{nil, "application/zip", true},
		{[]string{}, "image/png", false},
		{[]string{}, "text/csv; charset=utf-8", true},
		{[]string{}, "application/json", true},
		{[]string{}, "application/pdf", false},
		{[]string{"image"}, "IMAGE/PNG", true},
		{[]string{"image"}, "application/pdf", false},
		{[]string{"image"}, "audio/wav", false},
		{[]string{"document"}, "application/pdf", true},
		{[]string{"document"}, "image/png", false},
		{[]string{"audio"}, "audio/wav", true},
		{[]string{"image"}, "video/mp4", true},
	} {
		if got := (&model.Request{Inputs: tt.inputs}).Accepts(tt.kind); got != tt.want {
			t.Errorf("%v accept %s: %t, want %t", tt.inputs, tt.kind, got, tt.want)
		}
	}
}
