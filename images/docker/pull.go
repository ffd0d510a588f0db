package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/hotcell/hotcell/images"
)

// pull fetches an image for the engine's platform. Callers who want the same one share a pull, which goes on when one of
// them leaves. Whoever comes when it has just ended finds the image there.
func (s *Store) pull(ctx context.Context, ref string, policy images.PullPolicy) error {
	own, err := s.learn(ctx)
	if err != nil {
		return err
	}
	shared := s.pulls.DoChan(ref, func() (any, error) {
		if err := s.begin(); err != nil {
			return nil, err
		}
		defer s.work.Done()
		ctx, cancel := context.WithTimeout(s.ctx, s.limits.Pull)
		defer cancel()
		if policy == images.PullMissing {
			if _, err := s.engine.ImageInspect(ctx, ref); err == nil {
				return nil, nil
			}
		}
		return nil, s.fetch(ctx, ref, own)
	})
	select {
	case res := <-shared:
		return res.Err
	case <-ctx.Done():
		return fmt.Errorf("pull image %s: %w", ref, context.Cause(ctx))
	}
}

func (s *Store) fetch(ctx context.Context, ref string, own platform) error {
	body, err := s.engine.ImagePull(ctx, ref, image.PullOptions{Platform: own.String()})
	if err == nil {
		err = errors.Join(drain(body), body.Close())
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && s.ctx.Err() != nil:
		return errClosed
	case ctx.Err() != nil:
		return unpulled(ref, fmt.Sprintf("took longer than %v", s.limits.Pull), true)
	case client.IsErrConnectionFailed(err):
		return s.explain(ctx, "pull image "+ref, err)
	}
	return unpulled(ref, line(err.Error()), !final(err.Error()))
}

func unpulled(ref, why string, retryable bool) error {
	return &images.UnavailableError{Ref: ref, Why: "could not be pulled: " + why + ": build or pull it first", Retryable: retryable}
}

// progress is one of the JSON values that a pull answers with. A pull that fails on the way has begun with status 200.
type progress struct {
	Error       string `json:"error"`
	ErrorDetail struct {
		Message string `json:"message"`
	} `json:"errorDetail"`
}

// drain reads a pull's answer to its end, since leaving early would cancel it, and returns the first error in it.
func drain(body io.Reader) error {
	dec := json.NewDecoder(body)
	var failure error
	for {
		var p progress
		err := dec.Decode(&p)
		switch {
		case errors.Is(err, io.EOF):
			return failure
		case err != nil:
			return errors.Join(failure, fmt.Errorf("the engine's answer was cut: %w", err))
		case failure != nil:
		case p.ErrorDetail.Message != "":
			failure = errors.New(p.ErrorDetail.Message)
		case p.Error != "":
			failure = errors.New(p.Error)
		}
	}
}

// final reports whether a registry's words mean that another try cannot help.
func final(text string) bool {
	text = strings.ToLower(text)
	for _, s := range []string{
		"not found", "denied", "unauthorized", "authentication required", "manifest unknown", "does not exist", "no basic auth",
		"no matching manifest", "invalid reference", "unsupported", "not implemented",
	} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}
