package oidc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	lib "github.com/coreos/go-oidc/v3/oidc"
)

const (
	askTimeout = 10 * time.Second
	calmFor    = 10 * time.Second // how long an answer of the issuer, or its lack, stands
	maxAnswer  = 1 << 20          // bytes
)

// keys tells keys that could not be fetched from a signature that is wrong, which the library does only in words.
type keys struct{ set lib.KeySet }

type fetchKey struct{} // in a context: where the error of a fetch goes, an *error

// VerifySignature implements [lib.KeySet].
func (k keys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.set.VerifySignature(ctx, jwt)
	if err != nil && strings.HasPrefix(err.Error(), "fetching keys ") {
		if to, ok := ctx.Value(fetchKey{}).(*error); ok {
			*to = err
		}
	}
	return payload, err
}

// calm asks for each address once in a while, however often it is told to: anybody can send tokens with keys that nobody
// knows.
type calm struct {
	next http.RoundTripper
	now  func() time.Time

	mu   sync.Mutex
	last map[string]*answer
}

// answer is what an address said, or why it said nothing.
type answer struct {
	at   time.Time
	head *http.Response
	body []byte
	err  error
}

func newCalm(next http.RoundTripper, now func() time.Time) *calm {
	return &calm{next: next, now: now, last: map[string]*answer{}}
}

// RoundTrip implements [http.RoundTripper]. There are two addresses: the issuer's description and its keys.
func (c *calm) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := r.URL.String()
	a := c.last[at]
	if a == nil || c.now().Sub(a.at) >= calmFor || c.now().Before(a.at) {
		a = c.ask(r)
		if len(c.last) > 8 {
			clear(c.last)
		}
		c.last[at] = a
	}
	if a.err != nil {
		return nil, a.err
	}
	resp := *a.head
	resp.Request, resp.Header = r, a.head.Header.Clone()
	resp.Body = io.NopCloser(bytes.NewReader(a.body))
	return &resp, nil
}

func (c *calm) ask(r *http.Request) *answer {
	a := &answer{at: c.now()}
	if a.head, a.err = c.next.RoundTrip(r); a.err != nil {
		return a
	}
	defer a.head.Body.Close()
	a.body, a.err = io.ReadAll(io.LimitReader(a.head.Body, maxAnswer+1))
	if a.err == nil && len(a.body) > maxAnswer {
		a.err = fmt.Errorf("the answer is larger than %d KiB", maxAnswer>>10)
	}
	return a
}
