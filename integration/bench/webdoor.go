package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
)

// a2eHTTP is a session whose messages are posted one by one, and come back in a stream.
func (d *doorway) a2eHTTP(ctx context.Context, _ string) (func(context.Context) (timing, error), error) {
	resp, err := d.post(ctx, "/session", nil, nil)
	if err != nil {
		return nil, err
	}
	var opened struct {
		SessionID string `json:"session_id"`
	}
	if err := errors.Join(json.NewDecoder(resp.Body).Decode(&opened), resp.Body.Close()); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/stream", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Session-Id", opened.SessionID)
	stream, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	d.end = append(d.end, func() { _ = stream.Body.Close() })
	said := bufio.NewReader(stream.Body)
	headers := map[string]string{"X-Session-Id": opened.SessionID, "Content-Type": "text/plain"}
	return func(ctx context.Context) (t timing, err error) {
		body, err := request0()
		if err != nil {
			return t, err
		}
		began := time.Now()
		sent, err := d.post(ctx, "/send", headers, body)
		if err != nil {
			return t, err
		}
		_, err = io.Copy(io.Discard, sent.Body)
		return t, errors.Join(err, sent.Body.Close(), answered(said, began, &t))
	}, nil
}

// rest makes each call a request of its own.
func (d *doorway) rest(kind string) func(context.Context, string) (func(context.Context) (timing, error), error) {
	headers := map[string]string{"Content-Type": "application/json", "Accept": kind}
	return func(context.Context, string) (func(context.Context) (timing, error), error) {
		return func(ctx context.Context) (t timing, err error) {
			body, err := request0()
			if err != nil {
				return t, err
			}
			began := time.Now()
			resp, err := d.post(ctx, "/v1/calls", headers, body)
			if err != nil {
				return t, err
			}
			err = answered(bufio.NewReader(resp.Body), began, &t)
			_, rest := io.Copy(io.Discard, resp.Body) // so that the connection is used again
			return t, errors.Join(err, rest, resp.Body.Close())
		}, nil
	}
}

// request0 is a call of the skill, as a line.
func request0() ([]byte, error) {
	var line bytes.Buffer
	err := a2e.NewEncoder(&line).Encode(&a2e.CallRequest{
		Header: a2e.Header{ID: a2e.NewID()}, Name: skillNumber(0), Arguments: map[string]any{"text": text},
	})
	return line.Bytes(), err
}

// answered reads messages, a line each or as server-sent events, until the answer.
func answered(r *bufio.Reader, began time.Time, t *timing) error {
	for {
		line, err := r.ReadString('\n')
		line = strings.TrimPrefix(strings.TrimPrefix(line, "data: "), "data:")
		switch {
		case strings.Contains(line, `"type":"skill/call/resp"`):
			t.done = time.Since(began)
			if !strings.Contains(line, `"success":true`) {
				return fmt.Errorf("the call failed: %s", line)
			}
			return nil
		case strings.Contains(line, `"type":"skill/event"`) && t.first == 0:
			t.first = time.Since(began)
		}
		if err != nil {
			return fmt.Errorf("before the answer: %w", err)
		}
	}
}
