package plugin_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/plugin"
)

func TestASettingIsReadAsTheValueThatItWasMadeOf(t *testing.T) {
	tests := []struct {
		name  string
		value quota
		text  string
	}{
		{"the default", quota{PerDay: 10, Note: "default", Hosts: map[string]int{"a": 1}}, `{"per_day":10,"note":"default","hosts":{"a":1},"nested":{"On":false}}`},
		{"other than the default, also zero", quota{Note: "<&>", Hosts: map[string]int{"a": 0}}, `{"per_day":0,"note":"<&>","hosts":{"a":0},"nested":{"On":false}}`},
		{"more than the default", quota{PerDay: 1, Hosts: map[string]int{"a": 1, "b": 2}, Nested: struct{ On bool }{true}}, `{"per_day":1,"note":"","hosts":{"a":1,"b":2},"nested":{"On":true}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			setting := quotas().Setting(test.value)
			if setting.Name != "quota" || string(setting.Value) != test.text || setting.Check() != nil {
				t.Errorf("%s %s, %v; want quota %s", setting.Name, setting.Value, setting.Check(), test.text)
			}
			var got quota
			_, err := engine.New([]plugin.Plugin{limiter{func(q quota) { got = q }}}, engine.Options{Sections: plugin.Sections(setting)})
			if diff := cmp.Diff(test.value, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// pointed may be checked as long as it is there.
type pointed struct{ Share float64 }

func (p *pointed) Check() error {
	if p.Share > 1 {
		return errors.New("Share is more than 1")
	}
	return nil
}

func TestASettingThatWouldBeRefusedSaysSo(t *testing.T) {
	shares := plugin.Section[*pointed]{Name: "shares"}
	tests := []struct {
		name    string
		setting plugin.Setting
		want    string
	}{
		{"what the check refuses", quotas().Setting(quota{PerDay: -1, Hosts: map[string]int{"a": 1}}), "per_day is negative"},
		{"a default that the value cannot drop", quotas().Setting(quota{PerDay: 1}),
			`value {"per_day":1,"note":"","nested":{"On":false}} reads as {"per_day":1,"note":"","hosts":{"a":1},"nested":{"On":false}}: a member that JSON omits has the section's default`},
		{"what the check of a pointer refuses", shares.Setting(&pointed{2}), "Share is more than 1"},
		{"what JSON cannot express", shares.Setting(&pointed{math.NaN()}), "json: unsupported value: NaN"},
		{"nil", shares.Setting(nil), "value is nil, want one that JSON can express"},
		{"a section without a name", plugin.Section[quota]{}.Setting(quota{}), "section has no name"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.setting.Check()
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" || core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%s %s", core.CodeOf(err), diff)
			}
		})
	}
}

func TestReadRefusesASettingThatIsUnsound(t *testing.T) {
	good, bad := quotas().Setting(quota{Hosts: map[string]int{"a": 1}}), quotas().Setting(quota{PerDay: -1})
	for want, settings := range map[string][]plugin.Setting{
		`registering plugin "limiter": section "quota": per_day is negative`:    {bad},
		`registering plugin "limiter": section "quota": section is given twice`: {good, good},
	} {
		_, err := engine.New([]plugin.Plugin{limiter{func(quota) {}}}, engine.Options{Sections: plugin.Sections(settings...)})
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Error(diff)
		}
	}
}
