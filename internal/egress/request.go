package egress

import (
	"bufio"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"

	"github.com/hotcell/hotcell/policies"
)

// request is what a cell asks the proxy for.
type request struct {
	*http.Request
	rest *bufio.Reader // what follows it on the connection
	host policies.NetHost
	port uint16
}

// readRequest reads a request's head, of at most so many bytes, and finds out where it wants to go.
func readRequest(conn net.Conn, most int64) (*request, error) {
	limit := &io.LimitedReader{R: conn, N: most}
	rest := bufio.NewReader(limit)
	req, err := http.ReadRequest(rest)
	switch {
	case err != nil && limit.N <= 0:
		return nil, fmt.Errorf("the request's head is longer than %d bytes", most)
	case err != nil:
		return nil, errors.New("it is no HTTP request")
	}
	limit.N = math.MaxInt64
	r := &request{Request: req, rest: rest}
	return r, r.aim()
}

// aim finds the destination: of CONNECT the request's target, of any other method the absolute URL. The Host header says
// nothing about it.
func (r *request) aim() (err error) {
	target := r.RequestURI
	if r.Method != http.MethodConnect {
		switch {
		case r.URL.Scheme != "http" || r.URL.Host == "":
			return errors.New("expected CONNECT, or a request for an absolute http:// URL")
		case r.URL.User != nil:
			return errors.New("the URL holds a user's name")
		}
		if target = r.URL.Host; r.URL.Port() == "" {
			target = strings.TrimSuffix(target, ":") + ":80"
		}
	}
	r.host, r.port, err = policies.ParseHostPort(target)
	return err
}

// authorized reports whether the request shows the token as the password of Proxy-Authorization.
func (r *request) authorized(token string) bool {
	kind, encoded, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	if !strings.EqualFold(kind, "basic") || token == "" {
		return false
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return false
	}
	_, password, _ := strings.Cut(string(text), ":")
	return subtle.ConstantTimeCompare([]byte(password), []byte(token)) == 1
}

// refusal is an answer to the cell that is not what it asked for.
type refusal struct {
	status int
	reason string // in plain ASCII, without what only the operator may know
}

func forbidden(format string, args ...any) *refusal {
	return &refusal{http.StatusForbidden, fmt.Sprintf(format, args...)}
}

func badRequest(err error) *refusal { return &refusal{http.StatusBadRequest, err.Error()} }

// answer writes a refusal. The reason is in the status line too, since many clients show nothing else of an answer to
// CONNECT.
func answer(w io.Writer, no *refusal) {
	reason := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, "hotcell egress: "+no.reason)
	more := ""
	if no.status == http.StatusProxyAuthRequired {
		more = "Proxy-Authenticate: Basic realm=\"hotcell\"\r\n"
	}
	fmt.Fprintf(w, "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n%sConnection: close\r\n\r\n%s\n",
		no.status, reason, len(reason)+1, more, reason)
}
