package broker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/service"
)

// Credentials finds what a reference names. Its errors say what is missing and never hold a secret.
type Credentials interface {
	Resolve(ref string) ([]byte, error)
}

// Options are what a [Broker] works with.
type Options struct {
	Providers   []llm.Provider
	BaseURLs    []string // addresses that callers may bring, or below which theirs must be
	Credentials Credentials
	Log         audit.Log         // nil: nobody's
	Transport   http.RoundTripper // to the providers; nil: one of the broker's own
}

// Broker grants calls the use of models. It is safe for concurrent use.
type Broker struct {
	providers   []*upstream
	baseURLs    []*url.URL
	credentials Credentials
	log         audit.Log
	transport   http.RoundTripper
	large       chan struct{} // bodies beyond largeBody that are parsed at once
}

var _ service.Service = (*Broker)(nil)

// upstream is a provider with its address read.
type upstream struct {
	llm.Provider
	base *url.URL
}

// New makes a broker. The error names a provider or an address that cannot be used.
func New(o Options) (*Broker, error) {
	b := &Broker{credentials: o.Credentials, log: o.Log, transport: o.Transport, large: make(chan struct{}, 2)}
	if b.log == nil {
		b.log = audit.Nobody
	}
	if b.credentials == nil {
		return nil, errors.New("broker: no place to find credentials in")
	}
	if b.transport == nil {
		b.transport = newTransport()
	}
	for _, p := range o.Providers {
		if found := p.Check(); len(found) > 0 {
			return nil, fmt.Errorf("broker: provider %.40q: %s: %s", p.Name, found[0].Key, found[0].Why)
		}
		p = p.Complete()
		base, why := llm.CheckURL(p.BaseURL)
		if why != "" {
			return nil, fmt.Errorf("broker: provider %s: base_url: %s", p.Name, why)
		}
		b.providers = append(b.providers, &upstream{p, base})
	}
	for _, s := range o.BaseURLs {
		u, why := llm.CheckURL(s)
		if why != "" {
			return nil, fmt.Errorf("broker: base_urls: %s", why)
		}
		b.baseURLs = append(b.baseURLs, u)
	}
	return b, nil
}

// Close lets go of connections to providers that nobody uses. Grants must be revoked before.
func (b *Broker) Close() {
	if c, ok := b.transport.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// newTransport knows no time limit for an answer: models think as long as the call has time.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // what is packed could not be searched for keys
	}
}
