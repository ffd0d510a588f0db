package relay

// Counts are what a relay has seen so far.
type Counts struct {
	Events    int   // that were let out, the supervisor's own among them
	Bytes     int64 // that the cell wrote, in whole lines
	Dropped   int   // lines after a budget was exceeded
	Truncated int   // lines that were too long
}

// Count returns what was seen so far.
func (r *Relay) Count() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.counts
	n.Events = r.seq - r.opts.First
	return n
}
