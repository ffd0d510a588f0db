package doors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
)

// overREST makes each call a request of its own, whose answer has the given content type.
func overREST(kind string) func(t *testing.T, d *daemon) caller {
	return func(_ *testing.T, d *daemon) caller {
		return func(ctx context.Context, c call) (outcome, error) {
			req := requestOf(c)
			var body bytes.Buffer
			if err := a2e.NewEncoder(&body).Encode(req); err != nil {
				return outcome{}, err
			}
			post, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+"/v1/calls", &body)
			if err != nil {
				return outcome{}, err
			}
			post.Header.Set("Content-Type", "application/json")
			post.Header.Set("Accept", kind)
			var cancelling sync.WaitGroup
			defer cancelling.Wait()
			var refused error
			if c.Cancel {
				cancelling.Go(func() {
					if refused = d.running(ctx, req.ID); refused == nil {
						refused = d.cancel(ctx, req.ID)
					}
				})
			}
			resp, err := d.http.Do(post)
			if err != nil {
				return outcome{}, err
			}
			defer resp.Body.Close()
			o, err := told(kind, resp)
			cancelling.Wait()
			if err = errors.Join(err, refused); err != nil || !c.Files || kind != "application/json" {
				return o, err
			}
			o.Files, err = d.fetched(ctx, req.ID)
			return o, err
		}
	}
}

// told reads the messages of an answer.
func told(kind string, resp *http.Response) (outcome, error) {
	if got := resp.Header.Get("Content-Type"); got != kind {
		text, _ := io.ReadAll(resp.Body)
		return outcome{}, fmt.Errorf("status %s, content type %q: %s", resp.Status, got, text)
	}
	next := lines(resp.Body)
	if kind == "text/event-stream" {
		next = serverSent(resp.Body)
	}
	var g gathered
	for {
		m, err := next()
		if err != nil {
			return outcome{}, fmt.Errorf("before the answer: %w", err)
		}
		if o, done, err := g.take(m); done || err != nil {
			if done && o.Code == "" && resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("success has status %s", resp.Status)
			}
			return o, err
		}
	}
}

// restDoors are the three forms of an answer over REST, and the module for Python, which speaks to the socket too.
func restDoors() []door {
	return []door{
		{name: "REST JSON", quiet: true, open: overREST("application/json")},
		{name: "REST NDJSON", open: overREST("application/x-ndjson")},
		{name: "REST SSE", open: overREST("text/event-stream")},
		{name: "hotcell.py, REST", needs: "python3", open: func(t *testing.T, d *daemon) caller {
			return helper(t, d, "python3", "-B", "testdata/client.py", d.url)
		}},
		{name: "hotcell.py, unix socket", needs: "python3", open: func(t *testing.T, d *daemon) caller {
			return helper(t, d, "python3", "-B", "testdata/client.py", d.socket, d.url)
		}},
	}
}
