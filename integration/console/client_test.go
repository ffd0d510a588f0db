package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// client asks a daemon over HTTP, as REST's callers do.
type client struct {
	url, token string
}

// as asks as the owner of a token; "" shows none.
func (d *daemon) as(name string) client { return client{d.url, d.tokens[name]} }

// plain has no connection that outlives its request.
var plain = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}}

// ask makes a request, and reads the answer, which has to be one of success.
func (c client) ask(ctx context.Context, method, path string, body, into any) error {
	status, text, err := c.send(ctx, method, path, body)
	switch {
	case err != nil:
		return err
	case status/100 != 2:
		return fmt.Errorf("%s %s: %d %s", method, path, status, text)
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

func (c client) send(ctx context.Context, method, path string, body any) (int, []byte, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, content)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := plain.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}

// call makes a call to its end, and returns its answer, whatever became of it.
func (c client) call(ctx context.Context, request map[string]any) (*a2e.CallResponse, error) {
	status, text, err := c.send(ctx, http.MethodPost, "/v1/calls", request)
	if err != nil {
		return nil, err
	}
	var answer a2e.CallResponse
	if err := json.Unmarshal(text, &answer); err != nil || answer.ID == "" {
		return nil, fmt.Errorf("call %v: %d %.500s", request["name"], status, text)
	}
	return &answer, nil
}

// shown is what is told of a call, by its id or its request's.
func (c client) shown(ctx context.Context, id string) (control.Call, error) {
	var shown struct{ Call control.Call }
	err := c.ask(ctx, http.MethodGet, "/v1/calls/"+url.PathEscape(id), nil, &shown)
	return shown.Call, err
}

// begin makes a call that nobody waits for, under a request id of its own, and returns once it is in one of some states.
func (c client) begin(ctx context.Context, id string, request map[string]any, states ...control.State) (control.Call, error) {
	request["id"] = id
	failed := make(chan error, 1)
	go func() {
		_, err := c.call(context.WithoutCancel(ctx), request)
		failed <- err
	}()
	for {
		call, err := c.shown(ctx, id)
		for _, state := range states {
			if err == nil && call.State == state {
				return call, nil
			}
		}
		if err == nil && call.State.Terminal() {
			return call, fmt.Errorf("call %s ended as %s %s", id, call.State, call.Code)
		}
		select {
		case err := <-failed:
			return call, fmt.Errorf("call %s ended: %w", id, err)
		case <-ctx.Done():
			return call, fmt.Errorf("call %s is %s: %w", id, call.State, ctx.Err())
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// end cancels a call, and waits for its end.
func (c client) end(ctx context.Context, id string) error {
	if err := c.ask(ctx, http.MethodDelete, "/v1/calls/"+url.PathEscape(id), nil, nil); err != nil {
		return err
	}
	for {
		call, err := c.shown(ctx, id)
		if err != nil || call.State.Terminal() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
	}
}
