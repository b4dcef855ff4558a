package settings

import (
	"regexp"
	"testing"
)

// FuzzForms compares what is checked by hand with the same forms as expressions.
func FuzzForms(f *testing.F) {
	domain := regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)
	bus := regexp.MustCompile(`^(?:arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?([A-Za-z0-9/._-]{1,256})$`)
	stack := regexp.MustCompile(`^(?:arn:aws[a-z-]*:cloudformation:[a-z0-9-]+:[0-9]{12}:stack/[A-Za-z][A-Za-z0-9-]{0,127}/[a-z0-9-]+|[A-Za-z][A-Za-z0-9-]{0,127})$`)
	forms := []struct {
		name string
		is   func(string) bool
		want func(string) bool
	}{
		{"bucket", isBucket, regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`).MatchString},
		{"domain", isDomain, domain.MatchString},
		{"principal", isPrincipal, regexp.MustCompile(`^([a-z0-9-]+:[0-9a-f-]{36}|(AIDA|AROA)[A-Z0-9]+|[0-9]{12})$`).MatchString},
		{"bus", isBus, bus.MatchString},
		{"stack", isStack, stack.MatchString},
	}
	for _, seed := range []string{
		"", "a", "ab", "abc", "a.c", "a-c", "a_c", "-bc", "ab.", "ABC", "0.0", "a..b", "a.-b.c", "a\n", "é",
		"eu-central-1:1f6a5b1e-7c0d-4b8e-9d53-0a1b2c3d4e5f", ":1f6a5b1e-7c0d-4b8e-9d53-0a1b2c3d4e5f", "eu:1", "eu:1f6a5b1e-7c0d-4b8e-9d53-0a1b2c3d4e5g",
		"AIDA", "AIDA1", "AROAXYZ", "AROAxyz", "AROA:x", "123456789012", "1234567890123", "12345678901a",
		"arn:aws:events:eu-central-1:123456789012:event-bus/a", "arn:aws-cn:events:eu-central-1:123456789012:event-bus/a",
		"arn:aws1:events:e:123456789012:event-bus/a", "arn:aws:events::123456789012:event-bus/a", "arn:aws:events:e:12345678901:event-bus/a",
		"arn:aws:events:e:123456789012:event-bus/", "arn:aws:events:e:123456789012:rule/a", "arn:aws:event:e:123456789012:event-bus/a",
		"brn:aws:events:e:123456789012:event-bus/a", "arn:bws:events:e:123456789012:event-bus/a", "arn:aws:events:e:123456789012:event-bus/a:b",
		"0123456789012345678901234567890123456789012345678901234567890ab", "0123456789012345678901234567890123456789012345678901234567890abc", // 63 and 64
		"arn:aws:cloudformation:eu-central-1:123456789012:stack/mine/1f6a5b1e-7c0d-4b8e-9d53-0a1b2c3d4e5f", "arn:aws:cloudformation:e:123456789012:stack/mine", "arn:aws:cloudformation:e:123456789012:stack/1/a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v string) {
		for _, form := range forms {
			if got, want := form.is(v), form.want(v); got != want {
				t.Errorf("%q is a %s: %v, want %v", v, form.name, got, want)
			}
		}
	})
}
