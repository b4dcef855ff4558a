package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// groups are the parameters that are printed first, each under its title. All others follow.
var groups = []struct {
	title string
	names []string
}{
	{"auth", []string{"Auth", "Tenants", "Tenant", "TenantClaim", "UserClaim", "Issuer", "KeysUrl", "Clients", "UserPool", "TokenUse", "Origins", "Page", "ShowModels", "ShowRequests", "UsageReaders"}},
	{"endpoints", []string{"FunctionUrl", "DomainName", "CertificateArn", "HostedZoneId", "WebhookDomainName", "WebhookCertificateArn", "WebhookUrl", "WebhookSecret", "TriggerWebhookSecret", "EventBus"}},
	{"limits", []string{"Limits", "Steps", "StepConcurrency", "StepReserved", "StreamReserved", "StepTimeout", "Memory", "MaxBody", "RequestRate", "RequestBurst", "MaxBody", "MaxReadUnits", "MaxWriteUnits"}},
}

// loosened are the values that admit more callers, show more or protect less than others.
var loosened = map[string]func(value string) bool{
	"Auth":                is("none"),
	"Page":                is("on"),
	"ShowModels":          is("on"),
	"ShowRequests":        is("on"),
	"Origins":             has("*"),
	"UsageReaders":        has("*"),
	"BedrockModels":       has("*"),
	"DeletionProtection":  is("false"),
	"Limits":              is(""),
	"KeyArn":              is(""),
	"PermissionsBoundary": is(""),
	"StepReserved":        is("-1"),
	"StreamReserved":      is("-1"),
	"MaxReadUnits":        is("-1"),
	"MaxWriteUnits":       is("-1"),
}

func is(text string) func(string) bool { return func(value string) bool { return value == text } }

// has reports whether one of the items is the text.
func has(text string) func(string) bool {
	return func(value string) bool {
		return slices.ContainsFunc(strings.Split(value, ","), func(item string) bool { return strings.TrimSpace(item) == text })
	}
}

// change is a parameter whose value will change.
type change struct{ name, text string }

// changes compares the deployed values with those to deploy. The values of a new stack are
// compared with the defaults.
func changes(template parameters, before deployedStack, after map[string]string) (all []change) {
	old := before.parameters
	if !before.exists {
		old = template.defaults()
	}
	names := map[string]bool{}
	for name := range template {
		names[name] = true
	}
	for name := range old {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if text := difference(template, name, old, after); text != "" {
			all = append(all, change{name, text})
		}
	}
	return all
}

// difference is empty if the value stays.
func difference(template parameters, name string, old, after map[string]string) string {
	parameter, known := template[name]
	was, existed := old[name]
	now, said := after[name]
	switch {
	case slices.Contains(computed, name):
		return ""
	case !known:
		return shown(was) + " -> removed, the template has no such parameter"
	case parameter.NoEcho && said:
		return "hidden -> hidden, cannot be compared"
	case parameter.NoEcho, existed && was == now:
		return ""
	}
	text := shown(now)
	if parameter.Default != nil && *parameter.Default == now {
		text += ", the default"
	}
	text += mark(name, was, now, existed)
	if !existed {
		return "new parameter -> " + text
	}
	return shown(was) + " -> " + text
}

// mark is a warning about a change. Other tables or another bucket have other threads.
func mark(name, was, now string, existed bool) string {
	looser := loosened[name]
	switch {
	case looser != nil && looser(now) && (!existed || !looser(was)):
		return "   LOOSENED"
	case existed && slices.Contains([]string{"ThreadsTable", "ConfigTable", "PayloadBucket"}, name):
		return "   OTHER DATA"
	}
	return ""
}

// shown is a value on one line.
func shown(value string) string {
	if value == "" || strings.ContainsAny(value, "\r\n\t") {
		return fmt.Sprintf("%q", value)
	}
	return value
}

// printChanges writes to the terminal what the deployment will change.
func (s *stack) printChanges(template parameters, before deployedStack, to schema) {
	fmt.Fprintf(s.out, "environment %s: stack %s, region %s, profile %s\n", s.env.name, s.name, or(s.env.region, "of your AWS settings"), or(s.env.profile, "of your AWS settings"))
	if len(s.env.computed) > 0 {
		fmt.Fprintf(s.out, "%s, %s: %s in parameter_overrides is not used any more: delete it\n", samconfig, s.env.section(), strings.Join(s.env.computed, ", "))
	}
	all := changes(template, before, s.env.values(template))
	switch {
	case !before.exists && len(all) == 0:
		fmt.Fprintln(s.out, "The stack is new. All parameters have their defaults.")
	case !before.exists:
		fmt.Fprintln(s.out, "The stack is new. These parameters differ from their defaults:")
	case len(all) == 0:
		fmt.Fprintln(s.out, "No parameter changes.")
	default:
		fmt.Fprintln(s.out, "These parameters change:")
	}
	printGroups(s, all)
	if to.raised && before.exists {
		fmt.Fprintf(s.out, "this release is the first to write records of schema %d. It receives all requests immediately, without regard to GradualReleases and ReleaseType, "+
			"because older code cannot work on these threads\n", to.highest)
	}
}

// printGroups writes the changes by group.
func printGroups(s *stack, all []change) {
	rest := slices.Clone(all)
	for _, group := range groups {
		var own []change
		for _, name := range group.names {
			if i := slices.IndexFunc(rest, func(c change) bool { return c.name == name }); i >= 0 {
				own = append(own, rest[i])
				rest = slices.Delete(rest, i, i+1)
			}
		}
		s.printGroup(group.title, own)
	}
	s.printGroup("other", rest)
}

func (s *stack) printGroup(title string, all []change) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(s.out, "  %s\n", title)
	for _, c := range all {
		fmt.Fprintf(s.out, "    %s: %s\n", c.name, c.text)
	}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
