package broker

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// passed are the headers of a cell that go to a provider. All others stay here: tokens, cookies, organisations, projects,
// forwarding, and whatever will be invented.
func passed() []string {
	return []string{"Accept", "Anthropic-Beta", "Anthropic-Version", "Openai-Beta"}
}

const (
	anthropicVersion = "2023-06-01" // where the cell names none
	maxHeaderValue   = 1024
)

// outgoing makes the request to the provider: a path of ours below the provider's address, the checked body, a few of the
// cell's headers and the real credential.
func (x *exchange) outgoing(body []byte) (*http.Request, error) {
	to := *x.g.plan.to.base
	path := x.route.path
	if !x.g.plan.anthropic() {
		path = strings.TrimPrefix(path, "/v1") // it is in the provider's address
	}
	to.Path = strings.TrimSuffix(to.Path, "/") + path
	if x.r.URL.RawQuery == "beta=true" && x.g.plan.anthropic() {
		to.RawQuery = "beta=true"
	}
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(x.ctx, x.route.method, to.String(), content)
	if err != nil {
		return nil, err
	}
	for _, name := range passed() {
		for _, v := range x.r.Header.Values(name) {
			if len(v) <= maxHeaderValue {
				req.Header.Add(name, v)
			}
		}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "hotcell")
	req.Header.Set("Accept-Encoding", "identity")
	x.authorize(req.Header)
	return req, nil
}

func (x *exchange) authorize(h http.Header) {
	anthropic := x.g.plan.anthropic()
	if anthropic && h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", anthropicVersion)
	}
	switch {
	case x.key == "":
	case anthropic:
		h.Set("X-Api-Key", x.key)
	default:
		h.Set("Authorization", "Bearer "+x.key)
	}
}
