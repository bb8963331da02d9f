package runlog

import (
	"strconv"
	"strings"
)

// MaxPrevious is how many sequences a record says of those before it.
const MaxPrevious = 64

// maxPreviousText bounds what is read of the header: a first number and a difference for each other.
const maxPreviousText = MaxPrevious * len("18446744073709551615 ")

// EncodePrevious writes the header of a record from the sequences of those before it, oldest first, of which it takes the
// newest 64: "<sequence of the one before> <how far the one before that is from it> ...", or "" for none. The sequences
// must rise and start above 0; what comes before one that does not is left out.
func EncodePrevious(tail []uint64) string {
	if len(tail) == 0 || tail[len(tail)-1] == 0 {
		return ""
	}
	last := tail[len(tail)-1]
	b := strconv.AppendUint(make([]byte, 0, 4*min(len(tail), MaxPrevious)+len("18446744073709551615")), last, 10)
	for i := len(tail) - 2; i >= 0 && i >= len(tail)-MaxPrevious; i-- {
		if tail[i] == 0 || tail[i] >= last {
			break
		}
		b = strconv.AppendUint(append(b, ' '), last-tail[i], 10)
		last = tail[i]
	}
	return string(b)
}

// DecodePrevious reads what EncodePrevious wrote: the sequences, newest first. Anything else is nil.
func DecodePrevious(s string) []uint64 {
	if s == "" || len(s) > maxPreviousText {
		return nil
	}
	n := strings.Count(s, " ") + 1
	if n > MaxPrevious {
		return nil
	}
	found := make([]uint64, 0, n)
	for word := range strings.SplitSeq(s, " ") {
		v, err := strconv.ParseUint(word, 10, 64)
		if err != nil || v == 0 {
			return nil
		}
		if i := len(found); i > 0 {
			if v >= found[i-1] {
				return nil
			}
			v = found[i-1] - v
		}
		found = append(found, v)
	}
	return found
}
