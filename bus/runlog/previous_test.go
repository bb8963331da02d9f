package runlog_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/bus/runlog"
)

func TestPrevious(t *testing.T) {
	t.Parallel()
	long := make([]uint64, 100)
	for i := range long {
		long[i] = uint64(i+1) * 10
	}
	for name, tc := range map[string]struct {
		tail []uint64
		text string
		back []uint64
	}{
		"none":          {nil, "", nil},
		"one":           {[]uint64{7}, "7", []uint64{7}},
		"some":          {[]uint64{3, 10, 12}, "12 2 7", []uint64{12, 10, 3}},
		"greatest":      {[]uint64{1, math.MaxUint64}, "18446744073709551615 18446744073709551614", []uint64{math.MaxUint64, 1}},
		"too many":      {long, "1000" + strings.Repeat(" 10", 63), nil},
		"zero":          {[]uint64{0}, "", nil},
		"zero first":    {[]uint64{0, 5}, "5", []uint64{5}},
		"twice":         {[]uint64{4, 5, 5, 6}, "6 1", []uint64{6, 5}},
		"falls":         {[]uint64{9, 5}, "5", []uint64{5}},
		"ends in zero":  {[]uint64{5, 0}, "", nil},
		"falls at last": {[]uint64{3, 9, 5}, "5", []uint64{5}},
	} {
		if name == "too many" {
			tc.back = slices.Clone(long[36:])
			slices.Reverse(tc.back)
		}
		if got := runlog.EncodePrevious(tc.tail); got != tc.text {
			t.Errorf("%s: got %q, want %q", name, got, tc.text)
		}
		if diff := cmp.Diff(tc.back, runlog.DecodePrevious(tc.text)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

func TestPreviousOfGarbage(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		" ", "x", "0", "-1", "+1", "1.5", "5 ", " 5", "5  1", "5 5", "5 6", "5 0", "5,1", "5 -1", "18446744073709551616", "5\t1", "\x00",
		strings.Repeat("9", 2000), "1000" + strings.Repeat(" 1", 64),
	} {
		if got := runlog.DecodePrevious(text); got != nil {
			t.Errorf("%.40q: got %v", text, got)
		}
	}
}

// FuzzPrevious: no text panics or reads as what does not fall, and what was written reads the same.
func FuzzPrevious(f *testing.F) {
	for _, text := range []string{"", "7", "12 2 7", "5 6", "x", "1000 1 1 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		back := runlog.DecodePrevious(text)
		if len(back) > runlog.MaxPrevious {
			t.Fatalf("%d sequences", len(back))
		}
		for i, seq := range back {
			if seq == 0 || i > 0 && seq >= back[i-1] {
				t.Fatalf("%q reads as %v", text, back)
			}
		}
		tail := slices.Clone(back)
		slices.Reverse(tail)
		if diff := cmp.Diff(back, runlog.DecodePrevious(runlog.EncodePrevious(tail))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
