package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

const (
	clientTimeout = 30 * time.Second
	maxAnswer     = 256 << 20 // bytes: the events of one call at their limit, and room
)

// Client is the [control.Control] of a daemon that is reached over HTTP. It holds no connection open.
type Client struct {
	base  string
	token auth.Secret
	http  *http.Client
}

var _ control.Control = (*Client)(nil)

// NewClient returns the client of the daemon at base, "http://127.0.0.1:8765", with a token or none. Nothing is asked yet.
func NewClient(base string, token auth.Secret) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("daemon %q: expected an address such as http://127.0.0.1:8765", base)
	}
	return &Client{
		base:  strings.TrimSuffix(u.String(), "/"),
		token: token,
		http: &http.Client{
			Timeout:       clientTimeout,
			Transport:     &http.Transport{DisableKeepAlives: true}, // and no proxy: the daemon is on this host
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// List implements [control.Control].
func (c *Client) List(ctx context.Context, limit int) ([]control.Call, error) {
	var body listBody
	err := c.do(ctx, http.MethodGet, "/v1/calls?limit="+strconv.Itoa(min(limit, maxList)), &body)
	return body.Calls, err
}

// Search returns the calls that a query means, the newest first: at most its limit, which may be as many as can be listed, and are
// where it is 0.
func (c *Client) Search(ctx context.Context, q control.CallQuery) (control.CallPage, error) {
	var body listBody
	err := c.do(ctx, http.MethodGet, "/v1/calls?"+queryOf(&q).Encode(), &body)
	return control.CallPage(body), err
}

// Show implements [control.Control].
func (c *Client) Show(ctx context.Context, id string) (control.Call, *a2e.CallResponse, error) {
	var body showBody
	err := c.call(ctx, http.MethodGet, id, "", &body)
	return body.Call, body.Answer, err
}

// Events implements [control.Control].
func (c *Client) Events(ctx context.Context, id string, from int) ([]a2e.Event, error) {
	var body eventsBody
	err := c.call(ctx, http.MethodGet, id, "/events?from="+strconv.Itoa(from), &body)
	return body.Events, err
}

// Cancel implements [control.Control].
func (c *Client) Cancel(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, id, "", &callBody{})
}

func (c *Client) call(ctx context.Context, method, id, rest string, into any) error {
	if err := checkID(id); err != nil {
		return err
	}
	if id == "." || id == ".." { // a path would swallow them
		return control.ErrNotFound
	}
	return c.do(ctx, method, "/v1/calls/"+url.PathEscape(id)+rest, into)
}

func (c *Client) do(ctx context.Context, method, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return err
	}
	if !c.token.Empty() {
		req.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreached(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("daemon %s: %w", c.base, err)
	case len(body) > maxAnswer:
		return fmt.Errorf("daemon %s: the answer is larger than %d MiB", c.base, maxAnswer>>20)
	case resp.StatusCode/100 != 2:
		return c.refused(resp, body)
	}
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("daemon %s: its answer cannot be read: %w", c.base, err)
	}
	return nil
}

// unreached says what to do when nobody answers.
func (c *Client) unreached(err error) error {
	var timeout net.Error
	var e *url.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no hotcell daemon at %s: start one with 'hotcell serve'", c.base)
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("daemon %s: no answer in time", c.base)
	case errors.As(err, &e):
		return fmt.Errorf("daemon %s: %w", c.base, e.Err)
	}
	return err
}

// refused turns an error answer into the error that the daemon had.
func (c *Client) refused(resp *http.Response, body []byte) error {
	var e errorBody
	if json.Unmarshal(body, &e) != nil || e.Error.Code == "" {
		return fmt.Errorf("%s is no hotcell daemon: it answers with HTTP status %d", c.base, resp.StatusCode)
	}
	switch {
	case resp.StatusCode == http.StatusNotFound && e.Error.Message == control.ErrNotFound.Error():
		return control.ErrNotFound
	case resp.StatusCode == http.StatusConflict && e.Error.Message == control.ErrElsewhere.Error():
		return control.ErrElsewhere
	case resp.StatusCode == http.StatusConflict:
		return control.ErrEnded
	case resp.StatusCode == http.StatusUnauthorized && c.token.Empty():
		return fmt.Errorf("daemon %s: %w", c.base, auth.ErrMissing)
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("daemon %s: %w", c.base, auth.ErrRefused)
	case resp.StatusCode == http.StatusForbidden && e.Error.Code == codeForbidden:
		return fmt.Errorf("daemon %s: %w", c.base, auth.ErrScope)
	}
	return fmt.Errorf("daemon %s: %s", c.base, firstLine(e.Error.Message, maxReason))
}
