package simtest_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/sim/simtest"
)

func TestTheExampleSurvivesCrashes(t *testing.T) { simtest.RunWorlds(t, world, payments, together) }
