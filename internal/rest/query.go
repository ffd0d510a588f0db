package rest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// number reads a query parameter: decimal, from 0 to most.
func number(r *http.Request, name string, absent, most int) (int, error) {
	q := r.URL.Query()
	if !q.Has(name) {
		return absent, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 0 || n > most || len(q[name]) > 1 {
		return 0, badArgument(fmt.Errorf("%s: expected one number from 0 to %d", name, most))
	}
	return n, nil
}

// principal reads ?principal_id=. What is empty, malformed, not above 0 or there twice counts as absent: 0.
func principal(r *http.Request) int64 {
	all := r.URL.Query()["principal_id"]
	if len(all) != 1 {
		return 0
	}
	n, err := strconv.ParseInt(all[0], 10, 64)
	if err != nil || n <= 0 || strings.HasPrefix(all[0], "+") {
		return 0
	}
	return n
}

// folded reads the name of a skill in the path, as it is looked for.
func folded(r *http.Request, name string) string {
	return strings.ToLower(strings.TrimSpace(r.PathValue(name)))
}

// flag reports whether a query parameter is there and says yes.
func flag(r *http.Request, name string) bool {
	yes, err := strconv.ParseBool(r.URL.Query().Get(name))
	return err == nil && yes
}
