package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// readOverrides reads the value of parameter_overrides. It takes the forms that the SAM CLI
// takes: a text such as `A="1" B=2`, a list of such texts and of tables, or a table. A name
// that appears twice is an error, since its order is easy to overlook.
func readOverrides(value any) (map[string]string, error) {
	all := map[string]string{}
	return all, addOverrides(all, value)
}

func addOverrides(all map[string]string, value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return addText(all, v)
	case []any:
		for _, item := range v {
			if err := addOverrides(all, item); err != nil {
				return err
			}
		}
		return nil
	case []map[string]any: // a list of tables
		for _, table := range v {
			if err := addOverrides(all, table); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text, err := scalar(v[name])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := addOne(all, name, text); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf(`%v must be a text such as 'Auth="iam"', a list of such texts, or a table`, value)
}

// scalar is the text of a value in a table.
func scalar(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case []any:
		var parts []string
		for _, item := range v {
			part, err := scalar(item)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), nil
	}
	return "", fmt.Errorf("%v must be a text, an integer, true, false, or a list of these: write it in quotes", value)
}

// assignment is one parameter as the SAM CLI reads it. A value without quotes ends at a space.
var assignment = regexp.MustCompile(`^([A-Za-z0-9]+)=("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?:\\.|[^\s"\\])+)(?: +|$)`)

// addText reads a text such as `A="1" B=2`. The SAM CLI skips what it cannot read; here it is
// an error.
func addText(all map[string]string, text string) error {
	if strings.HasPrefix(text, "file://") {
		return fmt.Errorf("%s: other files are not read: write the parameters into %s", text, samconfig)
	}
	for rest := strings.Trim(text, " "); rest != ""; {
		m := assignment.FindStringSubmatch(rest)
		if m == nil {
			start, _, _ := strings.Cut(rest, "=") // without the value, which may be secret
			return fmt.Errorf(`cannot read the text from %q on: want NAME="VALUE", separated by spaces`, start)
		}
		if m[1] == "ParameterKey" {
			return errors.New(`the form ParameterKey=NAME,ParameterValue=VALUE is not read: write NAME="VALUE" instead`)
		}
		if err := addOne(all, m[1], unquote(m[2])); err != nil {
			return err
		}
		rest = rest[len(m[0]):]
	}
	return nil
}

func addOne(all map[string]string, name, value string) error {
	if other, twice := all[name]; twice && other != value {
		return fmt.Errorf("%s has two values: keep one of them", name)
	}
	all[name] = value
	return nil
}

// unquote removes quotes and escapes as the SAM CLI does. Other backslashes stay.
func unquote(value string) string {
	if n := len(value); n > 1 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
		value = value[1 : n-1]
	}
	value = strings.ReplaceAll(value, `\ `, " ")
	return strings.ReplaceAll(strings.ReplaceAll(value, `\"`, `"`), `\'`, `'`)
}

// overrides is the argument of --parameter-overrides, in the order of names. It returns an
// error if the SAM CLI would read another value.
func overrides(parameters map[string]string) (string, error) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		one := name + `="` + strings.ReplaceAll(parameters[name], `"`, `\"`) + `"`
		read := map[string]string{}
		if err := addText(read, one); err != nil || read[name] != parameters[name] {
			return "", fmt.Errorf(`parameter %s: the SAM CLI cannot pass a backslash before a quote, a space or the end`, name)
		}
		all = append(all, one)
	}
	return strings.Join(all, " "), nil
}
