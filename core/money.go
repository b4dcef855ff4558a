package core

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// USD is an amount of money in billionths of a US dollar. In JSON it is a decimal
// number of dollars with at most nine places, such as 0.00015.
type USD int64

// dollar is one US dollar.
const dollar USD = 1_000_000_000

const moneyPlaces = 9

// String returns the amount in dollars without needless zeros, such as "12.5".
func (u USD) String() string { return string(u.appendDecimal(nil)) }

func (u USD) appendDecimal(b []byte) []byte {
	n := uint64(u)
	if u < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendUint(b, n/uint64(dollar), 10)
	places := n % uint64(dollar)
	if places == 0 {
		return b
	}
	digits := fmt.Sprintf("%09d", places)
	return append(append(b, '.'), strings.TrimRight(digits, "0")...)
}

// MarshalJSON implements json.Marshaler.
func (u USD) MarshalJSON() ([]byte, error) { return u.appendDecimal(nil), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (u *USD) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	parsed, err := parseUSD(string(bytes.TrimSpace(b)))
	if err == nil {
		*u = parsed
	}
	return err
}

// Cost is an amount of money that may be unknown. In JSON it is that of [USD], or null.
type Cost struct {
	USD   USD
	Known bool // false: a price is unknown, and USD is 0
}

// MarshalJSON implements json.Marshaler.
func (c Cost) MarshalJSON() ([]byte, error) {
	if !c.Known {
		return []byte("null"), nil
	}
	return c.USD.MarshalJSON()
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Cost) UnmarshalJSON(b []byte) error {
	*c = Cost{Known: string(b) != "null"}
	return c.USD.UnmarshalJSON(b)
}

// parseUSD reads an amount in dollars, as String writes it. More than nine places, an
// exponent, or an amount beyond 9,223,372,036 dollars are [CodeInvalid].
func parseUSD(text string) (USD, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, places, point := strings.Cut(digits, ".")
	refused := func() (USD, error) {
		return 0, Errorf(CodeInvalid, "%q is not an amount of dollars: want digits, at most nine after a point, such as 0.25", Excerpt(text))
	}
	if whole == "" || point && places == "" || len(places) > moneyPlaces || strings.Trim(whole+places, "0123456789") != "" {
		return refused()
	}
	n, err := strconv.ParseUint(whole+places+strings.Repeat("0", moneyPlaces-len(places)), 10, 64)
	if err != nil || n > math.MaxInt64 {
		return refused()
	}
	if negative {
		return -USD(n), nil
	}
	return USD(n), nil
}
