package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
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
	key := ref
	if policy == images.PullAlways {
		key = "always " + ref
	}
	err = s.pulls.Do(ctx, key, func(ctx context.Context, tell func(images.Progress)) error {
		if policy == images.PullMissing {
			if _, err := s.engine.ImageInspect(ctx, ref); err == nil {
				return nil
			}
		}
		before, known := s.ids(ctx)
		if err := s.fetch(ctx, ref, own, tell); err != nil {
			return err
		}
		if known {
			s.claim(ctx, ref, before)
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("pull image %s: %w", ref, context.Cause(ctx))
	}
	return err
}

func (s *Store) fetch(ctx context.Context, ref string, own platform, tell func(images.Progress)) error {
	login, auth, err := s.auth(ref)
	if err != nil {
		return err
	}
	body, err := s.engine.ImagePull(ctx, ref, image.PullOptions{Platform: own.String(), RegistryAuth: auth})
	if err == nil {
		err = errors.Join(follow(body, newMeter(ref, tell)), body.Close())
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), images.ErrTooLong):
		return unpulled(ref, fmt.Sprintf("took longer than %v", s.limits.Pull), true)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case client.IsErrConnectionFailed(err):
		return s.explain(ctx, "pull image "+ref, err)
	}
	return refused(ref, own, line(login.Hide(err.Error())))
}

// refused puts the words of an engine or of its registry into an error.
func refused(ref string, own platform, text string) error {
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "verification failed"), strings.Contains(low, "does not match digest"), strings.Contains(low, "digest mismatch"):
		return unpulled(ref, "the registry's answer does not have the digest that it should have, and was refused: "+text, false)
	case strings.Contains(low, "does not match the specified platform"), strings.Contains(low, "no matching manifest"):
		return &images.UnavailableError{Ref: ref, Why: fmt.Sprintf("bad image: the registry has none for %s, which the engine is: %s", own, text)}
	}
	return unpulled(ref, text, !final(low))
}

func unpulled(ref, why string, retryable bool) error {
	return &images.UnavailableError{Ref: ref, Why: "could not be pulled: " + why + images.PullFirst, Retryable: retryable}
}

// auth is the login for the reference's registry, and the header that logs an engine in with it: nil and "" where there is none.
func (s *Store) auth(ref string) (*images.Login, string, error) {
	if s.logins == nil {
		return nil, "", nil
	}
	name, _ := images.Repository(ref)
	login, err := s.logins(name)
	if err != nil {
		return nil, "", &images.UnavailableError{Ref: ref, Why: "could not be pulled: no login for " + name + ": " + err.Error()}
	}
	if login == nil {
		return nil, "", nil
	}
	if name == "docker.io" {
		name = "https://index.docker.io/v1/" // as engines call it
	}
	header, err := registry.EncodeAuthConfig(registry.AuthConfig{Username: login.User, Password: login.Password, ServerAddress: name})
	return login, header, err
}

// ids are the images that the engine has.
func (s *Store) ids(ctx context.Context) (map[string]bool, bool) {
	if s.ledger == nil {
		return nil, false
	}
	all, err := s.engine.ImageList(ctx, image.ListOptions{All: true})
	if err != nil {
		return nil, false
	}
	ids := make(map[string]bool, len(all))
	for _, one := range all {
		ids[one.ID] = true
	}
	return ids, true
}

// claim notes that hotcell brought an image which the engine did not have before. The ledger tries again where it can not now.
func (s *Store) claim(ctx context.Context, ref string, before map[string]bool) {
	info, err := s.engine.ImageInspect(ctx, ref)
	if err == nil && !before[info.ID] {
		_ = s.ledger.Add(ctx, info.ID, ref)
	}
}

// Remote asks the registry, through the engine, which digest a tag has there.
func (s *Store) Remote(ctx context.Context, ref string) (string, error) {
	login, auth, err := s.auth(ref)
	if err != nil {
		return "", err
	}
	found, err := s.engine.DistributionInspect(ctx, ref, auth)
	switch {
	case err == nil:
		return string(found.Descriptor.Digest), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case client.IsErrConnectionFailed(err):
		return "", s.explain(ctx, "ask for image "+ref, err)
	}
	return "", errors.New(cmp.Or(line(login.Hide(err.Error())), "no answer"))
}

// final reports whether a registry's words mean that another try cannot help.
func final(text string) bool {
	for _, s := range []string{
		"not found", "denied", "unauthorized", "authentication required", "manifest unknown", "does not exist", "no basic auth",
		"invalid reference", "unsupported", "not implemented", "incorrect username", "name unknown", "manifest invalid",
	} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}
