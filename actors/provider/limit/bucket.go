package limit

import "time"

// maxDebt is how far into the future a bucket can be emptied. Counts come from servers, and a wrong one must not stop a
// model for a day.
const maxDebt = 10 * time.Minute

// bucket holds a minute's allowance and fills evenly. It is kept as the time at which it is full again, so that
// nothing has to be done while nobody takes. It may be taken from when it is empty: then it owes.
//
// It is no rate.Limiter, because what was taken too much has to come back once the real count is known, and because a
// reservation that is given up there does not let those behind it move up.
type bucket struct {
	perMinute int // no limit if not positive
	full      time.Time
}

// fill is how long the bucket takes to fill by n.
func (b *bucket) fill(n int) time.Duration {
	minutes := float64(n) / float64(b.perMinute)
	const most = float64(maxDebt / time.Minute)
	return time.Duration(min(max(minutes, -most), most) * float64(time.Minute))
}

// wait returns how long it takes until n are in the bucket after ahead were taken. More than fits in is there as soon as the
// bucket is full.
func (b *bucket) wait(now time.Time, ahead, n int) time.Duration {
	if b.perMinute <= 0 {
		return 0
	}
	owed := max(0, b.full.Sub(now)) + b.fill(ahead)
	return max(0, owed+b.fill(min(n, b.perMinute))-time.Minute)
}

// take removes n, or gives back what n is less than nothing.
func (b *bucket) take(now time.Time, n int) {
	if b.perMinute <= 0 {
		return
	}
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.fill(n))
	if latest := now.Add(maxDebt); b.full.After(latest) {
		b.full = latest
	}
}

// untouched reports whether the bucket is full.
func (b *bucket) untouched(now time.Time) bool { return b.perMinute <= 0 || !b.full.After(now) }
