package launch

import (
	"errors"
	"testing"
)

func TestToolsLeftBehindEndAProcess(t *testing.T) {
	sick := errors.New("16 tools do not end")
	for name, tt := range map[string]struct {
		abandoned int
		several   bool
		health    error
		want      bool
	}{
		"none":                          {0, false, nil, false},
		"one of a process that freezes": {1, false, nil, true},
		"one of a process that takes several invocations":  {1, true, nil, false},
		"many of a process that takes several invocations": {16, true, sick, true},
	} {
		if got := ends(tt.abandoned, tt.several, tt.health); got != tt.want {
			t.Errorf("%s: the process ends: %t, want %t", name, got, tt.want)
		}
	}
}
