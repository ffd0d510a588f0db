package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/sandbox"
)

var idPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// resolve is [Store.Resolve] for an image that has to be asked for.
func (s *Store) resolve(ctx context.Context, ref string, pull images.PullPolicy) (images.Image, error) {
	if !images.IsName(ref) && !idPattern.MatchString(ref) { // it becomes a part of a URL
		return images.Image{}, &images.UnavailableError{
			Ref: fmt.Sprintf("%.80q", ref), Why: "not a valid reference: expected [registry/]name[:tag][@sha256:digest] in lower case, or sha256:id",
		}
	}
	if ref == images.Builtin {
		return s.builtin(ctx)
	}
	if pull == images.PullAlways && !idPattern.MatchString(ref) {
		if err := s.pull(ctx, ref, pull); err != nil {
			return images.Image{}, err
		}
	}
	img, err := s.inspect(ctx, ref)
	if !errdefs.IsNotFound(err) {
		return img, err
	}
	switch {
	case idPattern.MatchString(ref):
		return images.Image{}, &images.UnavailableError{Ref: ref, Why: "not present, and an id cannot be pulled: build or load it first"}
	case pull == images.PullNever:
		return images.Image{}, &images.UnavailableError{Ref: ref, Why: "not present, and the pull policy is never: build, load or pull it first"}
	case pull == images.PullAlways:
		return images.Image{}, &images.UnavailableError{Ref: ref, Why: "not present right after its pull: someone removes it", Retryable: true}
	}
	if err := s.pull(ctx, ref, pull); err != nil {
		return images.Image{}, err
	}
	img, err = s.inspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		err = &images.UnavailableError{Ref: ref, Why: "not present right after its pull: someone removes it", Retryable: true}
	}
	return img, err
}

// inspect returns an image that is present. A "not found" of the engine comes through as it is.
func (s *Store) inspect(ctx context.Context, ref string) (images.Image, error) {
	op, cancel := context.WithTimeout(ctx, s.limits.Inspect)
	defer cancel()
	info, err := s.engine.ImageInspect(op, ref)
	if errdefs.IsNotFound(err) {
		return images.Image{}, err
	}
	if err != nil {
		return images.Image{}, s.explain(ctx, "inspect image "+ref, err)
	}
	own, err := s.learn(ctx)
	if err != nil {
		return images.Image{}, err
	}
	if got := (platform{info.Os, goArch(info.Architecture)}); got != own {
		return images.Image{}, &images.UnavailableError{Ref: ref, Why: fmt.Sprintf("bad image: built for %s, the engine is %s: build or pull it for that", got, own)}
	}
	return imageOf(ref, info), nil
}

func imageOf(ref string, info image.InspectResponse) images.Image {
	img := images.Image{Ref: ref, ID: info.ID, OS: info.Os, Arch: goArch(info.Architecture), Size: info.Size}
	img.Created, _ = time.Parse(time.RFC3339Nano, info.Created) // images may have none: the zero time
	if len(info.RepoDigests) > 0 {
		img.RepoDigest = digestOf(ref, info.RepoDigests)
	}
	if c := info.Config; c != nil {
		img.Env, img.Entrypoint, img.Cmd = c.Env, c.Entrypoint, c.Cmd
		img.Volumes = slices.Sorted(maps.Keys(c.Volumes))
		img.User, img.WorkingDir = c.User, c.WorkingDir
	}
	return img
}

// digestOf is the digest of the reference's own repository, or of the first where that has none.
func digestOf(ref string, all []string) string {
	_, mine := images.Repository(ref)
	own := slices.DeleteFunc(slices.Clone(all), func(d string) bool { _, theirs := images.Repository(d); return theirs != mine })
	if asked := images.Digest(ref); slices.ContainsFunc(own, func(d string) bool { return images.Digest(d) == asked }) {
		own = slices.DeleteFunc(own, func(d string) bool { return images.Digest(d) != asked })
	}
	if len(own) > 0 {
		return slices.Min(own)
	}
	return slices.Min(all)
}

// learn returns the engine's platform, asking once.
func (s *Store) learn(ctx context.Context) (platform, error) {
	s.mu.Lock()
	known := s.platform
	s.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	op, cancel := context.WithTimeout(ctx, s.limits.Inspect)
	defer cancel()
	info, err := s.engine.Info(op)
	if err != nil {
		return platform{}, s.explain(ctx, "ask the engine what it is", err)
	}
	p := platform{info.OSType, goArch(info.Architecture)}
	s.mu.Lock()
	s.platform = &p
	s.mu.Unlock()
	return p, nil
}

// goArch turns the words that kernels and images use for an architecture into Go's.
func goArch(arch string) string {
	switch arch {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "armv7l", "armv6l":
		return "arm"
	case "i386", "i686":
		return "386"
	}
	return arch
}

// explain turns a client's error into one that the contract knows. outer is the caller's context.
func (s *Store) explain(outer context.Context, what string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if outer.Err() != nil {
			return fmt.Errorf("%s: %w", what, context.Cause(outer))
		}
		return fmt.Errorf("%s: no answer from %s in time: %w", what, s.host, sandbox.ErrUnavailable)
	case client.IsErrConnectionFailed(err):
		advice := "start it, or set DOCKER_HOST"
		if errors.Is(err, os.ErrPermission) {
			advice = "run as a user who may open it, or set DOCKER_HOST"
		}
		return fmt.Errorf("no engine answers at %s: %s: %w", s.host, advice, sandbox.ErrUnavailable)
	}
	return fmt.Errorf("%s: engine at %s: %s: %w", what, s.host, line(err.Error()), sandbox.ErrUnavailable)
}

// line is an engine's message on one line, of bounded length.
func line(text string) string {
	text = strings.TrimPrefix(text, "Error response from daemon: ")
	text = strings.Join(strings.Fields(text), " ")
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
