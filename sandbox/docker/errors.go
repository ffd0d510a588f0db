package docker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"
	"github.com/hotcell/hotcell/sandbox"
)

// unsupported names what a spec asks for and this driver does not do.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), sandbox.ErrUnsupported)
}

// explain turns a client's error into one that the contract knows. what is the request in words ("create cell x"); outer
// is the caller's context, whose own end is reported as such and not blamed on the engine.
func (d *Driver) explain(outer context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if outer.Err() != nil {
			return fmt.Errorf("%s: %w", what, context.Cause(outer))
		}
		return fmt.Errorf("%s: no answer from %s in time: %w", what, d.host, sandbox.ErrUnavailable)
	case client.IsErrConnectionFailed(err), undialled(err):
		return d.unreachable(err)
	case errdefs.IsNotFound(err):
		return fmt.Errorf("%s: %s: %w", what, words(err), sandbox.ErrNotFound)
	case errdefs.IsInvalidArgument(err):
		return unsupported("%s: engine at %s: %s", what, d.host, words(err))
	case errdefs.IsConflict(err), errdefs.IsPermissionDenied(err), errdefs.IsUnauthorized(err), errors.Is(err, errClosed):
		return fmt.Errorf("%s: %s", what, words(err)) // it has answered, and the answer is no
	}
	return fmt.Errorf("%s: engine at %s: %s: %w", what, d.host, words(err), sandbox.ErrUnavailable) // it is broken, or speaks nonsense
}

// unanswered is explain for a question that every engine answers. One that says that there is no such thing, or that this is
// not for hotcell, is no engine that can be used; above all it says nothing about an image or a cell.
func (d *Driver) unanswered(outer context.Context, what string, err error) error {
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) || errdefs.IsPermissionDenied(err) || errdefs.IsUnauthorized(err) {
		return fmt.Errorf("%s: engine at %s: %s: %w", what, d.host, words(err), sandbox.ErrUnavailable)
	}
	return d.explain(outer, what, err)
}

// vanished is for a container that the engine knew and does not know any more.
func (d *Driver) vanished(name string) error {
	return fmt.Errorf("cell %s has vanished from the engine at %s: %w", name, d.host, sandbox.ErrUnavailable)
}

// gone reports that the engine could not be reached, as against having answered with an error.
func gone(err error) bool {
	return client.IsErrConnectionFailed(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// refused reports that the engine itself said no. Any other error leaves open what it has done.
func refused(err error) bool {
	for _, is := range []func(error) bool{
		errdefs.IsInvalidArgument, errdefs.IsNotFound, errdefs.IsConflict, errdefs.IsPermissionDenied, errdefs.IsUnauthorized,
		errdefs.IsNotImplemented,
	} {
		if is(err) {
			return true
		}
	}
	return false
}

// words is the engine's own message on one line, of bounded length.
func words(err error) string {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	if errors.As(err, new(*http.MaxBytesError)) {
		text = fmt.Sprintf("its answer is longer than %d bytes", maxAnswer)
	}
	text = strings.Join(strings.Fields(text), " ")
	const most = 500
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// unreachable says what to do about an engine that cannot be reached.
func (d *Driver) unreachable(err error) error {
	advice := "start it, or set DOCKER_HOST"
	switch {
	case errors.Is(err, os.ErrPermission):
		advice = "run as a user who may open it, or set DOCKER_HOST"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("the engine at %s can't be asked: %s: raise the limit of open files: %w", d.host, rootCause(err), sandbox.ErrUnavailable)
	}
	return fmt.Errorf("no engine answers at %s%s: %s: %w", d.host, reason(err), advice, sandbox.ErrUnavailable)
}

// rootCause is the system's own word for an error.
func rootCause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// reason is what a connection failure says beside the host's name, in brackets: " (permission denied)".
func reason(err error) string {
	text := words(err)
	if strings.HasPrefix(text, "Cannot connect to the Docker daemon at") {
		return ""
	}
	if i := strings.LastIndex(text, ": dial "); i >= 0 {
		text = text[i+2:]
	}
	return " (" + strings.TrimPrefix(text, "error during connect: ") + ")"
}
