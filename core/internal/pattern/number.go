package pattern

import (
	"strconv"
	"strings"
)

// maxDigits is the longest integer that is written in digits. It is more than an
// int64 or uint64 has, so integers that a tool reads exactly are compared exactly.
const maxDigits = 21

// canonicalNumber returns the one spelling of a JSON number: an integer of up to 21
// digits in digits, anything else as the nearest float64 in its shortest form, as
// JavaScript prints it. 1, 1.0, 10e-1 and 1.00000000000000000000001 are 1; -0 is 0.
// A number that no float64 holds stays as it is written.
func canonicalNumber(text string) string {
	if digits := strings.TrimPrefix(text, "-"); len(digits) <= maxDigits && digits != "0" && !strings.ContainsAny(digits, ".eE") {
		return text
	}
	if integer, ok := exactInteger(text); ok {
		return integer
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	if size := max(f, -f); size != 0 && (size >= 1e21 || size < 1e-6) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	if f == 0 {
		return "0"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// exactInteger returns a number in digits if it is an integer that does not have
// too many of them.
func exactInteger(text string) (string, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	if mantissa := strings.TrimLeft(digits, "0."); mantissa == "" || mantissa[0] == 'e' || mantissa[0] == 'E' {
		return "0", true
	}
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		n, err := strconv.Atoi(digits[i+1:])
		if err != nil || n < -len(text) || n > maxDigits+len(text) {
			return "", false // too small or too large, for any digits before it
		}
		digits, exponent = digits[:i], n
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	significant := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(significant)
	if exponent < 0 || len(significant)+exponent > maxDigits {
		return "", false
	}
	significant += strings.Repeat("0", exponent)
	if negative {
		significant = "-" + significant
	}
	return significant, true
}
