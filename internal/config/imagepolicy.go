package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/pattern"
)

// ImagePolicy says which images may be used at all.
type ImagePolicy struct {
	// Registries are patterns in which * stands for any text: "ghcr.io", "*.example.org" for whole registries,
	// "docker.io/hotcell/*" for repositories. An image that names no registry is docker.io's. None allows nothing.
	Registries []string
	// Digests are what an image's content may be: digests of manifests as registries have them, or content ids; * is any.
	Digests       []string
	RequireDigest bool // only references that pin their content: name@sha256:..., or an engine's own sha256:...
	Pull          images.PullPolicy
}

// Check returns an [images.UnavailableError] for an image that the policy does not allow. The built-in one comes from nowhere
// but hotcell itself.
func (p ImagePolicy) Check(ref string) error {
	if ref == images.Builtin {
		return nil
	}
	if p.RequireDigest && images.Digest(ref) == "" {
		return &images.UnavailableError{Ref: ref, Why: "policy.images.require_digest: the reference has no @sha256: digest"}
	}
	registry, repository := images.Repository(ref)
	for _, wish := range p.Registries {
		name := registry
		if strings.Contains(wish, "/") {
			name = repository
		}
		if matches(wish, name) {
			return nil
		}
	}
	if registry == "" {
		return &images.UnavailableError{Ref: ref, Why: "policy.images.registries allows named images only"}
	}
	return &images.UnavailableError{Ref: ref, Why: fmt.Sprintf("policy.images.registries does not allow %s", repository)}
}

// CheckContent is [ImagePolicy.Check] for what is known of an image once it was found.
func (p ImagePolicy) CheckContent(img images.Image) error {
	if img.Ref == images.Builtin {
		return nil
	}
	digest := images.Digest(img.RepoDigest)
	for _, d := range p.Digests {
		if d == "*" || d == img.ID || d == digest {
			return nil
		}
	}
	return &images.UnavailableError{Ref: img.Ref, Why: "policy.images.digests does not allow " + cmp.Or(digest, img.ID)}
}

// matches compares without regard to case.
func matches(p, name string) bool { return pattern.Match(strings.ToLower(p), strings.ToLower(name)) }
