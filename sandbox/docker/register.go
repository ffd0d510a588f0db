package docker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/hotcell/hotcell/internal/engineapi"
)

// maxWait bounds what an engine says at the end of a wait.
const maxWait = 64 << 10

// registration is a wait that the engine has acknowledged. Its answer must be taken. Until then it is a connection, and no more.
type registration struct {
	conn net.Conn
	body func() io.Reader // what the engine answers
	stop func() bool      // ctx has no effect on the connection any more
}

// register asks the engine to tell when the condition holds. It returns when the engine has acknowledged; until then it
// gives up when time is up or early ends. The wait itself lasts as long as ctx. Each cell waits so as long as it lives: the
// engine's client would take three goroutines and their buffers for that, a connection of one's own takes none until somebody
// asks for the answer.
func (c *cell) register(ctx, early context.Context, condition container.WaitCondition) (w *registration, err error) {
	guard, unguard := context.WithTimeout(early, c.d.limits.Attach)
	defer unguard()
	defer context.AfterFunc(ctx, unguard)()
	began := time.Now()
	defer func() { c.d.tellAsked(guard, "container_wait", began, err) }()
	conn, err := c.d.dial(guard)
	if err != nil {
		return nil, tooLate(guard, err)
	}
	release := context.AfterFunc(guard, func() { _ = conn.Close() })
	body, err := c.d.askToWait(guard, conn, c.id, condition)
	if !release() {
		_ = conn.Close()
		return nil, context.DeadlineExceeded
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &registration{conn, body, context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
}

// tooLate is why a dial failed: that nobody waits for it any more comes first.
func tooLate(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.DeadlineExceeded
	}
	return err
}

// askToWait sends the request and reads the head of the answer. It returns what reads the rest.
func (d *Driver) askToWait(ctx context.Context, conn net.Conn, id string, condition container.WaitCondition) (func() io.Reader, error) {
	target := url.URL{Scheme: "http", Host: "docker", Path: d.versioned("/containers/" + id + "/wait"), RawQuery: "condition=" + string(condition)}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(newHeadReader(conn), 1<<10)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return bodyOf(resp, r, conn), nil
}

// bodyOf returns what reads the body of an answer whose head has come, without keeping the head: the answer may be long in
// coming.
func bodyOf(resp *http.Response, r *bufio.Reader, conn io.Reader) func() io.Reader {
	body, length := behind(r, conn), resp.ContentLength
	if slices.Contains(resp.TransferEncoding, "chunked") {
		return func() io.Reader { return httputil.NewChunkedReader(io.LimitReader(body, maxWait)) }
	}
	if length < 0 || length > maxWait {
		length = maxWait
	}
	return func() io.Reader { return io.LimitReader(body, length) }
}

// refusal is an answer of the engine that says no.
func refusal(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	var said struct{ Message string }
	if json.Unmarshal(text, &said) != nil || said.Message == "" {
		said.Message = strings.TrimSpace(string(text))
	}
	var kind error = errdefs.ErrInternal
	switch {
	case resp.StatusCode == http.StatusNotFound:
		kind = errdefs.ErrNotFound
	case resp.StatusCode == http.StatusBadRequest:
		kind = errdefs.ErrInvalidArgument
	case resp.StatusCode == http.StatusConflict:
		kind = errdefs.ErrConflict
	case resp.StatusCode == http.StatusUnauthorized:
		kind = errdefs.ErrUnauthenticated
	case resp.StatusCode == http.StatusForbidden:
		kind = errdefs.ErrPermissionDenied
	}
	return fmt.Errorf("%s: %w", said.Message, kind)
}

// take waits for the answer.
func (w *registration) take() (container.WaitResponse, error) {
	defer w.conn.Close()
	defer w.stop()
	var res container.WaitResponse
	err := json.NewDecoder(w.body()).Decode(&res)
	if errors.As(err, new(*json.SyntaxError)) {
		return res, errors.New("the engine's answer to a wait is no JSON")
	}
	return res, err
}

// tellAsked tells of a request that does not go over the client's transport.
func (d *Driver) tellAsked(ctx context.Context, operation string, began time.Time, err error) {
	if d.watch == nil {
		return
	}
	status := 0
	switch {
	case errdefs.IsNotFound(err):
		status, err = http.StatusNotFound, nil
	case errdefs.IsConflict(err):
		status, err = http.StatusConflict, nil
	case errdefs.IsInternal(err):
		status, err = http.StatusInternalServerError, nil
	case refused(err):
		status, err = http.StatusBadRequest, nil
	}
	d.watch.Asked(operation, engineapi.Fault(ctx, status, err), time.Since(began))
}

// versioned is the path of a request in the version that is spoken.
func (d *Driver) versioned(path string) string {
	return "/v" + strings.TrimPrefix(d.system.ClientVersion(), "v") + path
}

// undialled reports that there was no connection to the engine.
func undialled(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
