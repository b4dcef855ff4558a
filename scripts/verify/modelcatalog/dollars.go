package main

import (
	"math"
	"strconv"
)

// dollars is an amount for a million tokens, in millionths of a dollar.
type dollars int64

// perMillion is the price of a million tokens that cost so much each.
func perMillion(each float64) dollars { return dollars(math.Round(each * 1e12)) }

// MarshalJSON writes the shortest number.
func (d dollars) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(d)/1e6, 'f', -1, 64), nil
}

// UnmarshalJSON reads a number.
func (d *dollars) UnmarshalJSON(b []byte) error {
	value, err := strconv.ParseFloat(string(b), 64)
	*d = dollars(math.Round(value * 1e6))
	return err
}
