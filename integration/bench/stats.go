package main

import "math"

// quantile is the nearest-rank percentile of figures in order.
func quantile(ordered []float64, percent int) float64 {
	rank := (percent*len(ordered) + 99) / 100
	return ordered[max(rank, 1)-1]
}

// spread is how far the true median may be from that of these figures, with a confidence of 95 %, in percent of it: from
// the ranks between which it lies, whatever the distribution. With few figures these are the first and the last.
func spread(ordered []float64) float64 {
	n := float64(len(ordered))
	half := 1.96 * math.Sqrt(n) / 2
	low := max(0, int(n/2-half))
	high := min(len(ordered)-1, int(math.Ceil(n/2+half)))
	mid := quantile(ordered, 50)
	if mid == 0 {
		return 0
	}
	return 100 * max(math.Abs(ordered[high]-mid), math.Abs(mid-ordered[low])) / mid
}
