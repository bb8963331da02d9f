package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// MaxToken is the longest escaped token in bytes; what is longer is replaced by a digest.
const MaxToken = 200

// hashMark starts a token that stands for a longer one. Escape never yields "==" otherwise: a kept
// byte is no "=", and an escaped one is "=" and two hexadecimal digits.
const hashMark = "=="

// emptyToken stands for the empty string, which no subject token can be.
const emptyToken = "="

const upperHex = "0123456789ABCDEF"

// Escape makes one subject token, or one token of a bucket key, of any string: A-Z, a-z, 0-9, _ and -
// stay, every other byte becomes =HH, the empty string becomes "=". A token that would be longer
// than MaxToken becomes "==" and the SHA-256 of the string in hexadecimal, which Unescape refuses.
func Escape(s string) string {
	if s == "" {
		return emptyToken
	}
	n := 0
	for i := range len(s) {
		if keep(s[i]) {
			n++
		} else {
			n += 3
		}
	}
	if n > MaxToken {
		sum := sha256.Sum256([]byte(s))
		return hashMark + hex.EncodeToString(sum[:])
	}
	if n == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(n)
	for i := range len(s) {
		if c := s[i]; keep(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('=')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

// Unescape is the inverse of Escape for every token it makes except digests. It refuses what Escape
// never makes, so one string has one token.
func Unescape(token string) (string, error) {
	if token == emptyToken {
		return "", nil
	}
	if strings.HasPrefix(token, hashMark) {
		return "", fmt.Errorf("token %.80q: a digest has no original", token)
	}
	var b strings.Builder
	b.Grow(len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if keep(c) {
			b.WriteByte(c)
			continue
		}
		if c != '=' || i+2 >= len(token) {
			return "", fmt.Errorf("token %.80q: bad byte at %d", token, i)
		}
		hi, lo := strings.IndexByte(upperHex, token[i+1]), strings.IndexByte(upperHex, token[i+2])
		if hi < 0 || lo < 0 || keep(byte(hi<<4|lo)) {
			return "", fmt.Errorf("token %.80q: bad escape at %d", token, i)
		}
		b.WriteByte(byte(hi<<4 | lo))
		i += 2
	}
	if s := b.String(); s != "" && len(token) <= MaxToken {
		return s, nil
	}
	return "", fmt.Errorf("token %.80q: empty or too long", token)
}

// IsDigest reports whether token stands for a longer string that cannot be read back from it.
func IsDigest(token string) bool { return strings.HasPrefix(token, hashMark) }

func keep(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
