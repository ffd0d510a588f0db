package rest

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// preferred returns which of the offered content types a request wants most. The first is what is given to who says nothing,
// takes anything, or wants nothing that there is.
func preferred(r *http.Request, offered ...string) string {
	best, weight := offered[0], 0.0
	for entry := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, params, err := mime.ParseMediaType(entry)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		for _, o := range offered {
			if kind == o && q > weight {
				best, weight = o, q
			}
		}
	}
	return best
}
