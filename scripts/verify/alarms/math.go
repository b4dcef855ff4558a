package alarms

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// calculate returns the value of an expression of metric math in one period. values are those
// of its metrics, by their ids; NaN is a missing one. What is calculated from a missing value
// is missing, and so is a division by zero.
func calculate(expression string, values map[string]float64) (float64, error) {
	p := &parser{rest: tokens(expression), values: values}
	value, err := p.comparison()
	if err == nil && len(p.rest) > 0 {
		err = fmt.Errorf("unexpected %q", p.rest[0])
	}
	if err != nil {
		return 0, fmt.Errorf("expression %q: %w", expression, err)
	}
	return value, nil
}

// tokens are the names, numbers and signs of an expression.
func tokens(text string) (all []string) {
	for i := 0; i < len(text); {
		j := i + 1
		switch c := rune(text[i]); {
		case unicode.IsSpace(c):
			i++
			continue
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			for j < len(text) && (unicode.IsLetter(rune(text[j])) || unicode.IsDigit(rune(text[j])) || text[j] == '_' || text[j] == '.') {
				j++
			}
		case strings.ContainsRune("<>=!", c) && j < len(text) && text[j] == '=':
			j++
		}
		all = append(all, text[i:j])
		i = j
	}
	return all
}

// parser calculates while it reads.
type parser struct {
	rest   []string
	values map[string]float64
}

// next takes the next token if it is one of those; empty: it is none.
func (p *parser) next(of ...string) string {
	for _, sign := range of {
		if len(p.rest) > 0 && p.rest[0] == sign {
			p.rest = p.rest[1:]
			return sign
		}
	}
	return ""
}

// comparison is a sum, or a comparison of two, which is 1 or 0.
func (p *parser) comparison() (float64, error) {
	left, err := p.sum()
	sign := p.next(">=", "<=", "==", "!=", ">", "<")
	if err != nil || sign == "" {
		return left, err
	}
	right, err := p.sum()
	if err != nil || math.IsNaN(left) || math.IsNaN(right) {
		return math.NaN(), err
	}
	holds := map[string]bool{">=": left >= right, "<=": left <= right, "==": left == right, "!=": left != right, ">": left > right, "<": left < right}[sign]
	if holds {
		return 1, nil
	}
	return 0, nil
}

func (p *parser) sum() (float64, error) {
	value, err := p.product()
	for err == nil {
		var more float64
		switch p.next("+", "-") {
		case "+":
			more, err = p.product()
			value += more
		case "-":
			more, err = p.product()
			value -= more
		default:
			return value, nil
		}
	}
	return value, err
}

func (p *parser) product() (float64, error) {
	value, err := p.factor()
	for err == nil {
		var more float64
		switch p.next("*", "/") {
		case "*":
			more, err = p.factor()
			value *= more
		case "/":
			if more, err = p.factor(); more == 0 {
				value = math.NaN()
			}
			value /= more
		default:
			return value, nil
		}
	}
	return value, err
}

// factor is a number, a metric, a function or an expression in parentheses.
func (p *parser) factor() (float64, error) {
	if len(p.rest) == 0 {
		return 0, fmt.Errorf("it ends too early")
	}
	token := p.rest[0]
	p.rest = p.rest[1:]
	if token == "(" {
		value, err := p.comparison()
		if err == nil && p.next(")") == "" {
			err = fmt.Errorf("a parenthesis is open")
		}
		return value, err
	}
	if n, err := strconv.ParseFloat(token, 64); err == nil {
		return n, nil
	}
	if value, ok := p.values[token]; ok {
		return value, nil
	}
	if p.next("(") == "" {
		return 0, fmt.Errorf("there is no metric %q", token)
	}
	return p.function(token)
}

// function is a function whose parenthesis is open.
func (p *parser) function(name string) (float64, error) {
	var arguments []float64
	for {
		value, err := p.comparison()
		if err != nil {
			return 0, err
		}
		arguments = append(arguments, value)
		if p.next(",") == "" {
			break
		}
	}
	if p.next(")") == "" {
		return 0, fmt.Errorf("the parenthesis of %s is open", name)
	}
	switch {
	case name == "FILL" && len(arguments) == 2:
		if math.IsNaN(arguments[0]) {
			return arguments[1], nil
		}
		return arguments[0], nil
	case name == "IF" && len(arguments) == 3:
		switch condition := arguments[0]; {
		case math.IsNaN(condition):
			return math.NaN(), nil
		case condition != 0:
			return arguments[1], nil
		}
		return arguments[2], nil
	}
	return 0, fmt.Errorf("unknown function %s of %d arguments", name, len(arguments))
}
