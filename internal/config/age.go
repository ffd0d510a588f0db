package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/policies"
)

// Age is how long something is kept. It reads and writes days, beside what [policies.ParseDuration] knows: "30d", "12h".
type Age time.Duration

// Day is the unit of most ages.
const Day = Age(24 * time.Hour)

const maxAge = 100 * 365 * Day

// parseAge reads an age above 0.
func parseAge(s string) (Age, error) {
	expected := fmt.Errorf("%q is no length of time: expected days or shorter, such as 30d, 12h or 90m", s)
	if days, ok := strings.CutSuffix(strings.TrimSpace(s), "d"); ok {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n == 0 || Age(n) > maxAge/Day {
			return 0, expected
		}
		return Age(n) * Day, nil
	}
	d, err := policies.ParseDuration(s)
	if err != nil || Age(d) > maxAge {
		return 0, expected
	}
	return Age(d), nil
}

// String returns whole days as "30d", and else hours, minutes and seconds as far as there are any: "36h", "5m".
func (a Age) String() string {
	switch {
	case a == 0:
		return "0"
	case a%Day == 0:
		return strconv.FormatInt(int64(a/Day), 10) + "d"
	}
	s := time.Duration(a).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
