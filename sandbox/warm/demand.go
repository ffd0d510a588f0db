package warm

import "time"

// window is how many seconds of arrivals count.
const window = 60

// demand learns from the recent calls of one key how many cells should wait for the next ones.
type demand struct {
	seconds [window]int // arrivals of second s, at s modulo window
	newest  int64       // the second of the latest arrival
	last    time.Time   // the latest arrival
}

// note counts one arrival.
func (d *demand) note(now time.Time) {
	d.forget(now)
	d.seconds[now.Unix()%window]++
	d.newest, d.last = now.Unix(), now
}

// forget empties the seconds that have passed since the latest arrival.
func (d *demand) forget(now time.Time) {
	from := max(d.newest+1, now.Unix()-window+1)
	for s := from; s <= now.Unix(); s++ {
		d.seconds[s%window] = 0
	}
	d.newest = max(d.newest, now.Unix())
}

// want is how many cells should wait: as many as came in the busiest second of the last minute, one at least, and none
// once nobody has come for the time idle.
func (d *demand) want(now time.Time, idle time.Duration) int {
	if now.Sub(d.last) >= idle {
		return 0
	}
	d.forget(now)
	peak := 1
	for _, n := range d.seconds {
		peak = max(peak, n)
	}
	return peak
}

// recent is how many came in the last minute.
func (d *demand) recent(now time.Time) int {
	d.forget(now)
	sum := 0
	for _, n := range d.seconds {
		sum += n
	}
	return sum
}

// leases are the times of the latest leases. A cell that is started ahead takes the processors from the call that has just
// got one, so its start waits for a breath, unless so many calls come that every start is needed at once.
type leases [few]time.Time

func (l *leases) note(now time.Time) {
	copy(l[1:], l[:few-1])
	l[0] = now
}

// breath is how long the next start should wait.
func (l *leases) breath(now time.Time) time.Duration {
	if now.Sub(l[few-1]) < time.Second {
		return 0
	}
	return max(0, breath-now.Sub(l[0]))
}
