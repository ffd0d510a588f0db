package docker

import (
	"io"
	"net/http"

	"github.com/docker/docker/client"
)

// What an engine may say in one answer. It is trusted more than a cell, and yet must not make this process grow.
const (
	maxAnswer = 16 << 20 // a body; a list of ten thousand containers fits
	maxHead   = 64 << 10 // status and headers
)

// boundClient is an engine's client whose answers are bounded.
type boundClient struct {
	*client.Client
	transport *http.Transport
}

// Close closes idle connections.
func (c *boundClient) Close() error {
	c.transport.CloseIdleConnections()
	return c.Client.Close()
}

// bounded reads at most maxAnswer of each body. What is longer fails with *http.MaxBytesError.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// newHeadReader reads at most maxHead bytes.
func newHeadReader(r io.Reader) io.Reader { return io.LimitReader(r, maxHead) }
