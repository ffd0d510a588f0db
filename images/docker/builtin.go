package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"
	"github.com/hotcell/hotcell/images"
)

// builtin returns [images.Builtin], which is loaded where the engine has none: never pulled. Callers at the same time share
// the load, which goes on when one of them leaves.
func (s *Store) builtin(ctx context.Context) (images.Image, error) {
	img, err := s.inspectBuiltin(ctx, images.Builtin)
	if !errdefs.IsNotFound(err) {
		return img, err
	}
	own, err := s.learn(ctx)
	if err != nil {
		return images.Image{}, err
	}
	if err := s.pulls.Do(ctx, images.Builtin, func(ctx context.Context, _ func(images.Progress)) error { return s.load(ctx, own) }); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("load image %s: %w", images.Builtin, err)
		}
		return images.Image{}, err
	}
	img, err = s.inspectBuiltin(ctx, images.Builtin)
	if errdefs.IsNotFound(err) {
		err = &images.UnavailableError{Ref: images.Builtin, Why: "not present right after it was loaded: someone removes it", Retryable: true}
	}
	return img, err
}

// inspectBuiltin is [Store.inspect], to which an image of that name with anything in it is none.
func (s *Store) inspectBuiltin(ctx context.Context, ref string) (images.Image, error) {
	op, cancel := context.WithTimeout(ctx, s.limits.Inspect)
	defer cancel()
	info, err := s.engine.ImageInspect(op, ref)
	switch {
	case errdefs.IsNotFound(err):
		return images.Image{}, err
	case err != nil:
		return images.Image{}, s.explain(ctx, "inspect image "+ref, err)
	}
	own, err := s.learn(ctx)
	if err != nil {
		return images.Image{}, err
	}
	if !slices.Equal(info.RootFS.Layers, []string{images.BuiltinLayer()}) || (platform{info.Os, goArch(info.Architecture)}) != own {
		return images.Image{}, errdefs.ErrNotFound
	}
	return imageOf(ref, info), nil
}

func (s *Store) load(ctx context.Context, own platform) error {
	answer, err := s.engine.ImageLoad(ctx, bytes.NewReader(images.BuiltinArchive(own.arch)), client.ImageLoadWithQuiet(true))
	if err == nil {
		err = errors.Join(follow(answer.Body, nil), answer.Body.Close())
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), images.ErrClosed):
		return images.ErrClosed
	case ctx.Err() != nil, client.IsErrConnectionFailed(err):
		return s.explain(context.Background(), "load image "+images.Builtin, err)
	}
	return &images.UnavailableError{Ref: images.Builtin, Why: "the engine does not load it: " + line(err.Error())}
}
