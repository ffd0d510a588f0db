package skills

import "slices"

// closest returns the candidate nearest to word, or "" when none is near: at most a third of its letters differ.
func closest(word string, candidates []string) string {
	if word == "" || len(word) > 128 {
		return ""
	}
	slices.Sort(candidates)
	best, found := max(1, len(word)/3)+1, ""
	for _, c := range candidates {
		if diff := len(c) - len(word); diff >= best || -diff >= best {
			continue
		}
		if d := distance(word, c); d < best {
			best, found = d, c
		}
	}
	return found
}

// distance is the number of bytes to insert, drop, replace or swap with their neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
