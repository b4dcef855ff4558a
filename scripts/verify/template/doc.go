// Package template holds what must be true of template.yaml and of the samples
// in events as tests: what the validators of the format do not see, because it
// is about our code or about two places that have to agree.
// scripts/verify/lint-template.sh does the rest.
package template
