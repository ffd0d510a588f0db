package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hotcell/hotcell/sandbox"
)

// explain turns an API server's error into one that the contract knows. what is the request in words ("create pod x");
// outer is the caller's context, whose own end is reported as such and not blamed on the cluster.
func (d *Driver) explain(outer context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if outer.Err() != nil {
			return fmt.Errorf("%s: %w", what, context.Cause(outer))
		}
		return fmt.Errorf("%s: no answer from %s in time: %w", what, d.api.host, sandbox.ErrUnavailable)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return lostf(sandbox.LossQuota, "%s: namespace %s is full: %s", what, d.api.namespace, words(err))
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the cluster at %s refuses: %s: %w", what, d.api.host, words(err), sandbox.ErrUnavailable)
	case apierrors.IsNotFound(err) && strings.Contains(err.Error(), "namespaces \""):
		return fmt.Errorf("%s: the cluster at %s has no namespace %s: make it, or name another in %s: %w", what, d.api.host, d.api.namespace, d.setting(), sandbox.ErrUnavailable)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: %s: %w", what, words(err), sandbox.ErrNotFound)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return unsupported("%s: cluster at %s: %s", what, d.api.host, words(err))
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), errors.Is(err, errClosed):
		return fmt.Errorf("%s: %s", what, words(err))
	}
	return fmt.Errorf("%s: cluster at %s: %s: %w", what, d.api.host, words(err), sandbox.ErrUnavailable)
}

// lostf is an error about what a cluster does with cells.
func lostf(loss sandbox.Loss, format string, args ...any) error {
	return &sandbox.LostError{Loss: loss, Message: fmt.Sprintf(format, args...)}
}

// refused reports that the API server itself said no. Any other error leaves open what it has done.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500
}

// words is a message on one line, of bounded length.
func words(err error) string { return oneLine(err.Error()) }

// oneLine is text of somebody else on one line, of bounded length, and without what steers a terminal.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, strings.Join(strings.Fields(text), " "))
	const most = 500
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
