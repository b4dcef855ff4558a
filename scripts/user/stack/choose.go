package main

import (
	"fmt"
	"strings"
)

// choose selects the environment by its name, or by that of its stack, or else the
// environment default. Only a deployment may name an environment that does not exist: it
// creates it.
func (s *stack) choose(env string, creates bool) (err error) {
	if s.all, err = readFile(); err != nil {
		return err
	}
	if env == "" && s.name != "" && len(s.all) > 0 {
		if env, err = s.environmentOf(s.name); err != nil {
			return err
		}
	}
	said := env != ""
	if !said {
		env = "default"
	}
	if !named(env) {
		return fmt.Errorf("environment %q: a name has letters, digits, - and _ only", env)
	}
	found, ok := s.all[env]
	switch {
	case ok && found.stack != "":
		s.env = found
	case !creates && (said || s.name == ""):
		return fmt.Errorf("%s has no stack for the environment %s, it has %v: run make deploy ENV=%[2]s first, or choose another one with ENV=NAME", samconfig, env, s.withStacks())
	default:
		s.env = found
		s.env.name = env
	}
	if s.name == "" {
		s.name = s.env.stack
	}
	return nil
}

// environmentOf returns the one environment of a stack.
func (s *stack) environmentOf(stack string) (string, error) {
	names := s.all.of(stack)
	switch len(names) {
	case 1:
		return names[0], nil
	case 0:
		return "", fmt.Errorf("%s has no environment with the stack %s, it has %v: name the environment whose settings apply with -env NAME", samconfig, stack, s.withStacks())
	}
	return "", fmt.Errorf("%s has the stack %s in several environments, %s: name one of them with -env NAME", samconfig, stack, strings.Join(names, ", "))
}

// withStacks are the environments that can be deployed.
func (s *stack) withStacks() environments {
	known := environments{}
	for name, env := range s.all {
		if env.stack != "" {
			known[name] = env
		}
	}
	return known
}

// named reports whether a text can be the name of an environment: a bare key of TOML.
func named(text string) bool {
	return text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
