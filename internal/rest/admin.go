package rest

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strconv"

	"github.com/hotcell/hotcell/internal/auth"
)

// maxProfile bounds for how long a profile or a trace is taken, in seconds: an answer has a minute in all.
const maxProfile = 50

// NewAdmin returns the handler of the listener for those who run hotcell: metrics, health and the profiles of the program.
// The rules of [New] about Host and Origin hold here too, and metrics and profiles need the scope admin. Of the options
// Auth, Ready, Metrics, Hosts, Log and Version count.
func NewAdmin(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := newAPI(o)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", a.health)
	mux.HandleFunc("GET /readyz", a.readiness)
	if o.Metrics != nil {
		mux.Handle("GET /metrics", a.needs(auth.Admin, o.Metrics.ServeHTTP))
	}
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET /debug/pprof/":        timed(pprof.Index), // of which some count for a while, too
		"GET /debug/pprof/profile": timed(pprof.Profile),
		"GET /debug/pprof/trace":   timed(pprof.Trace),
		"GET /debug/pprof/symbol":  pprof.Symbol,
	} { // not the command line: it is nobody's business
		mux.Handle(pattern, a.needs(auth.Admin, serve))
	}
	return headers(o.Version, recovered(o.Log, guard(o.Hosts, bodies(nil), plainErrors(mux, ""))))
}

// timed refuses what would take longer than an answer may.
func timed(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s := r.FormValue("seconds"); s != "" {
			if n, err := strconv.ParseFloat(s, 64); err != nil || !(n > 0 && n <= maxProfile) {
				fail(w, r, http.StatusBadRequest, "bad_request", "seconds: expected a number above 0 and up to "+strconv.Itoa(maxProfile))
				return
			}
		}
		serve(w, r)
	}
}
