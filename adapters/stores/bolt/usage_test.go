package bolt_test

import "testing"

func TestUsage(t *testing.T) { suites.Usage(t) }
