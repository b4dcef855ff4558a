package newest

// number is the part of a JSON number that has been scanned.
type number uint8

const (
	numberStart number = iota
	numberMinus
	numberZero
	numberWhole
	numberPoint
	numberFraction
	numberPower // the e
	numberSign
	numberExponent
)

// next scans a byte. It returns false if the byte is not of the number.
func (n *number) next(c byte) bool {
	digit := c >= '0' && c <= '9'
	switch *n {
	case numberStart, numberMinus:
		switch {
		case c == '-' && *n == numberStart:
			*n = numberMinus
		case c == '0':
			*n = numberZero
		case digit:
			*n = numberWhole
		default:
			return false
		}
		return true
	case numberZero, numberWhole, numberFraction:
		return n.after(c, digit)
	case numberPower:
		if c == '+' || c == '-' {
			*n = numberSign
			return true
		}
	}
	if digit && *n == numberPoint {
		*n = numberFraction
	} else if digit {
		*n = numberExponent
	}
	return digit
}

// after scans a byte after a digit that can be the last one.
func (n *number) after(c byte, digit bool) bool {
	switch {
	case digit && *n != numberZero:
	case c == '.' && *n != numberFraction:
		*n = numberPoint
	case c == 'e' || c == 'E':
		*n = numberPower
	default:
		return false
	}
	return true
}

// whole reports whether the number may end.
func (n number) whole() bool {
	return n == numberZero || n == numberWhole || n == numberFraction || n == numberExponent
}
