package normalize

import (
	"strconv"
	"strings"
)

// literal returns the JSON of a word that is more than a string: empty for a number that is not finite.
func literal(word string) (raw string, special bool) {
	switch word {
	case "True", "true":
		return "true", true
	case "False", "false":
		return "false", true
	case "None", "null":
		return "null", true
	}
	if unsigned := strings.TrimLeft(word, "+-"); len(word)-len(unsigned) <= 1 {
		for _, name := range notFinite {
			if strings.EqualFold(unsigned, name) {
				return "", true
			}
		}
	}
	raw, ok := number(word)
	if !ok {
		return "", false
	}
	if _, err := strconv.ParseFloat(raw, 64); err != nil { // beyond what a float can be
		return "", true
	}
	return raw, true
}

var notFinite = [...]string{"nan", "inf", "infinity"}

// number returns a word that is a number as JSON has it, with the same digits.
func number(word string) (string, bool) {
	sign, rest := "", word
	switch {
	case strings.HasPrefix(word, "-"):
		sign, rest = "-", word[1:]
	case strings.HasPrefix(word, "+"):
		rest = word[1:]
	}
	whole, rest := digits(rest)
	fraction, point := "", strings.HasPrefix(rest, ".")
	if point {
		fraction, rest = digits(rest[1:])
	}
	if whole == "" && fraction == "" || len(whole) > 1 && whole[0] == '0' {
		return "", false
	}
	exponent := rest
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return "", false
		}
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		power, more := digits(rest)
		if power == "" || more != "" {
			return "", false
		}
	}
	if whole == "" {
		whole = "0"
	}
	if point && fraction == "" {
		fraction = "0"
	}
	if point {
		fraction = "." + fraction
	}
	return sign + whole + fraction + exponent, true
}

// digits cuts s behind its first digits.
func digits(s string) (number, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}
