package engineproxy

import (
	"encoding/json"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Rule says which requests meet a fault.
type Rule struct {
	Method string // "" for any
	Path   string // a pattern of package path, without the API's version: "/containers/*/start"
	Query  string // a part of the raw query, such as "condition=next-exit"; "" for any
	Nth    int    // the nth request that matches, from 1; 0 for all
	Fault  Fault
}

// Fault is what happens to a request. The steps come in the order of the fields; the zero value forwards it unchanged.
type Fault struct {
	Silent bool    // it is taken and never answered, nor forwarded
	Drop   bool    // the connection is closed, and the engine never hears of it
	Before Pause   // the engine gets it this late, whether the client still waits or not
	Answer *Answer // the client gets this, and the engine never hears of it

	Lost    bool                     // the engine serves it, and the connection is closed instead of the answer
	Instead *Answer                  // the engine serves it, and the client gets this
	After   Pause                    // the engine serves it, and its answer comes this late
	CutBody bool                     // the answer's head passes, and after After the connection is closed instead of its body
	Edit    func(body []byte) []byte // the engine's answer is changed
	Stream  *Stream                  // what becomes of an upgraded connection
}

// Pause is a time, or until a channel is closed.
type Pause struct {
	For   time.Duration
	Until <-chan struct{}
}

// Answer is a reply that does not come from the engine. Repeat sends the body that often, without a length.
type Answer struct {
	Status int
	Body   string
	Repeat int
}

// Stream changes what an engine sends over an upgraded connection: after so many bytes something is inserted, and then
// the connection is cut, or goes on.
type Stream struct {
	After  int64
	Insert []byte
	Cut    bool
}

// Says is an engine's error.
func Says(status int, message string) *Answer {
	b, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return &Answer{Status: status, Body: string(b)}
}

// Warn adds warnings to the answer to a create.
func Warn(warnings ...string) func([]byte) []byte {
	return func(body []byte) []byte {
		var answer map[string]any
		if json.Unmarshal(body, &answer) != nil {
			return body
		}
		answer["Warnings"] = warnings
		changed, err := json.Marshal(answer)
		if err != nil {
			return body
		}
		return changed
	}
}

// Injected is a rule in force.
type Injected struct {
	rule Rule

	mu    sync.Mutex
	seen  int // requests that matched
	hits  int // those that met the fault
	ended bool
}

// Hits returns how many requests have met the fault.
func (i *Injected) Hits() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hits
}

// Remove ends the rule for requests to come.
func (i *Injected) Remove() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = true
}

// meets reports whether the request meets the fault, and counts it.
func (i *Injected) meets(r *http.Request) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended || !i.rule.matches(r) {
		return false
	}
	i.seen++
	if i.rule.Nth != 0 && i.seen != i.rule.Nth {
		return false
	}
	i.hits++
	return true
}

func (r *Rule) matches(req *http.Request) bool {
	if r.Method != "" && r.Method != req.Method || !strings.Contains(req.URL.RawQuery, r.Query) {
		return false
	}
	ok, err := path.Match(r.Path, plainPath(req))
	return ok && err == nil
}

var version = regexp.MustCompile(`^/v[0-9.]+/`)

// plainPath is the request's path without the API's version.
func plainPath(r *http.Request) string { return version.ReplaceAllString(r.URL.Path, "/") }
