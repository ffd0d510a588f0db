package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/hotcell/hotcell/internal/wall"
)

// maxRequest bounds the request's line: the most that limits.output can be.
const maxRequest = 64 << 20

// Request is the call as the skill sees it. Raw is the whole of it.
type Request struct {
	Raw       json.RawMessage `json:"-"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ReadRequest waits for the request, one line of JSON, or for the context's end.
func ReadRequest(ctx context.Context, r io.Reader) (*Request, error) {
	type read struct {
		line []byte
		err  error
	}
	done := make(chan read, 1)
	go func() { // ends with the process at the latest
		line, err := bufio.NewReaderSize(io.LimitReader(r, maxRequest), 64<<10).ReadBytes('\n')
		done <- read{line, err}
	}()
	select {
	case <-ctx.Done():
		return nil, Cancelled(ctx)
	case got := <-done:
		return parseRequest(got.line, got.err)
	}
}

func parseRequest(line []byte, err error) (*Request, error) {
	line = bytes.TrimSpace(line)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, Failf(CodeBadRequest, "standard input: %v", err)
	case len(line) == 0:
		return nil, Finalf(CodeBadRequest, "standard input ended before there was a request: expected one line of JSON")
	}
	req := &Request{Raw: line}
	if err := json.Unmarshal(line, req); err != nil {
		return nil, Finalf(CodeBadRequest, "the request is no JSON object: %v", err)
	}
	if len(req.Arguments) == 0 || string(req.Arguments) == "null" {
		req.Arguments = json.RawMessage("{}")
	}
	return req, nil
}

// ReadLease reads what the call may use. Where nothing was granted there is no file, and the lease is empty.
func ReadLease(file string) (*wall.Lease, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &wall.Lease{}, nil
	}
	lease := &wall.Lease{}
	if err == nil {
		err = json.Unmarshal(data, lease)
	}
	if err != nil {
		return nil, Failf(CodeInternal, "%s: %v", file, err)
	}
	return lease, nil
}
