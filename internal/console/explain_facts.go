package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30

	mostMemory  = 4 * gib
	mostTimeout = 10 * time.Minute
)

// wholeNumber reads a number as JSON or Go has it.
func wholeNumber(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	}
	return 0, false
}

// bytesOf reads an amount such as 256Mi, as policies have it; 0 is none.
func bytesOf(s string) int64 {
	unit := int64(1)
	for suffix, n := range map[string]int64{"Ki": kib, "Mi": mib, "Gi": gib, "Ti": gib << 10} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = rest, n
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0
	}
	return n * unit
}

// bytesText writes an amount as a configuration has it.
func bytesText(n int64) string {
	switch {
	case n >= gib && n%gib == 0:
		return strconv.FormatInt(n/gib, 10) + "Gi"
	case n >= mib && n%mib == 0:
		return strconv.FormatInt(n/mib, 10) + "Mi"
	case n >= kib && n%kib == 0:
		return strconv.FormatInt(n/kib, 10) + "Ki"
	}
	return strconv.FormatInt(n, 10)
}

// roomy is a round amount of at least n, at most most.
func roomy(n, most int64) int64 {
	for step := mib; step < most; step *= 2 {
		if step >= n {
			return step
		}
		if step+step/2 >= n {
			return step + step/2
		}
	}
	return most
}

// secondsOf reads a duration such as 60s, as policies have it; 0 is none.
func secondsOf(s string) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSuffix(s, "s"), 64)
	if err != nil || f <= 0 || f > 1e6 {
		return 0
	}
	return time.Duration(f * float64(time.Second))
}

// longer is a round time of at least twice d.
func longer(d time.Duration) time.Duration {
	for _, n := range []int{1, 2, 5, 10, 20, 30, 60, 90, 120, 180, 300} {
		if t := time.Duration(n) * time.Second; t >= 2*d {
			return t
		}
	}
	return mostTimeout
}

// coresOf reads processors such as 1 or 500m, in thousandths; 0 is none.
func coresOf(s string) int64 {
	if m, ok := strings.CutSuffix(s, "m"); ok {
		n, _ := strconv.ParseInt(m, 10, 64)
		return max(n, 0)
	}
	n, _ := strconv.ParseInt(s, 10, 32)
	return max(n, 0) * 1000
}

// raise advises a larger limit, in the places that have to say it.
func (b bound) raise(field, value string) []advice {
	key := strings.TrimPrefix(field, "limits.")
	skill := advice{
		Do:   fmt.Sprintf("Give the skill more: %s in its skill.yaml.", field),
		File: "skill.yaml", Text: fmt.Sprintf("limits:\n  %s: %s", key, value),
	}
	operator := advice{
		Do:   fmt.Sprintf("The operator bounds this for every skill: raise policy.%s, too.", field),
		File: "hotcell.yaml", Text: fmt.Sprintf("policy:\n  limits:\n    %s: %s", key, value),
	}
	switch {
	case b.from == "operator" || b.by == "operator":
		if bytesOf(b.asked) >= bytesOf(value) && b.asked != "" {
			operator.Do = fmt.Sprintf("The skill asks for %s already and the operator cuts it to %s: raise policy.%s.", sizeValue(b.asked), b.text(), field)
			return []advice{operator}
		}
		return []advice{skill, operator}
	}
	return []advice{skill}
}

// numberOf reads a whole number as policies have it.
func numberOf(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// counts writes names with their numbers: "a (3), b (1)".
func counts(m map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%s (%s)", name, countText(m[name])))
	}
	return strings.Join(all, ", ")
}

// span is a time for people who set it in seconds: "60 s".
func span(d time.Duration) string {
	if d >= time.Minute && d <= mostTimeout+time.Minute {
		return strconv.Itoa(int(d.Seconds()+0.5)) + " s"
	}
	return tookText(d)
}
