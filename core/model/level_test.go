package model_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/model"
)

func TestAnEffortIsALevelOfTheModel(t *testing.T) {
	all := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	for _, tt := range []struct {
		effort model.Effort
		levels []string
		want   string // empty: not known
	}{
		{"", all, ""}, {model.EffortHigh, nil, ""}, {model.EffortBudget(2000), all, ""},
		{model.EffortNone, all, "none"}, {model.EffortLow, all, "low"}, {model.EffortMedium, all, "medium"}, {model.EffortHigh, all, "high"}, {model.EffortMax, all, "max"},
		{model.EffortNone, []string{"minimal", "low"}, "minimal"},
		{model.EffortNone, []string{"high"}, "high"},
		{model.EffortLow, []string{"none", "high"}, "high"},
		{model.EffortLow, []string{"minimal"}, "minimal"},
		{model.EffortMedium, []string{"low", "high", "max"}, "high"},
		{model.EffortHigh, []string{"low", "medium"}, "medium"},
		{model.EffortMax, []string{"none", "low", "medium", "high"}, "high"},
		{model.EffortMax, []string{"low", "xhigh"}, "xhigh"},
	} {
		request := model.Request{ReasoningEffort: tt.effort, Levels: tt.levels}
		if got, known := request.Level(); got != tt.want || known != (tt.want != "") {
			t.Errorf("%q of %q is %q, %v, want %q", tt.effort, tt.levels, got, known, tt.want)
		}
	}
}
