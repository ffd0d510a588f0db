package config

import (
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/pattern"
)

// ImagePolicy says which images may be used at all.
type ImagePolicy struct {
	// Registries are patterns in which * stands for any text: "ghcr.io", "*.example.org" for whole registries,
	// "docker.io/hotcell/*" for repositories. An image that names no registry is docker.io's. None allows nothing.
	Registries    []string
	RequireDigest bool // only references that pin their content: name@sha256:..., or an engine's own sha256:...
	Pull          images.PullPolicy
}

// Check returns an [images.UnavailableError] for an image that the policy does not allow. The built-in one comes from nowhere
// but hotcell itself.
func (p ImagePolicy) Check(ref string) error {
	if ref == images.Builtin {
		return nil
	}
	if p.RequireDigest && !pinned(ref) {
		return &images.UnavailableError{Ref: ref, Why: "policy.images.require_digest: the reference has no @sha256: digest"}
	}
	registry, repository := split(ref)
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

// pinned reports whether a reference ends in a digest, or is one.
func pinned(ref string) bool {
	if i := strings.LastIndexByte(ref, '@'); i >= 0 {
		ref = ref[i+1:]
	}
	digest, ok := strings.CutPrefix(ref, "sha256:")
	return ok && len(digest) == 64 && isHex(digest)
}

// isID reports whether an engine could take a reference for an image's id, whole or cut short.
func isID(ref string) bool {
	id := strings.TrimPrefix(ref, "sha256:")
	return len(id) >= 12 && len(id) <= 64 && isHex(id)
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// split returns a reference's registry, and registry and path together, as an engine reads them: without tag and
// digest. Both are empty for an id, which names an image that no registry need know.
func split(ref string) (registry, repository string) {
	if isID(ref) {
		return "", ""
	}
	name, _, _ := strings.Cut(ref, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	first, rest, found := strings.Cut(name, "/")
	switch {
	case !found:
		return "docker.io", "docker.io/library/" + name
	case first == "index.docker.io" || !isRegistry(first):
		if first != "index.docker.io" {
			rest = name
		}
		if !strings.Contains(rest, "/") {
			rest = "library/" + rest
		}
		return "docker.io", "docker.io/" + rest
	case first == "docker.io" && !strings.Contains(rest, "/"):
		return first, "docker.io/library/" + rest
	}
	return first, name
}

// isRegistry tells a registry from a user's name, by the rule that engines have.
func isRegistry(first string) bool {
	return first == "localhost" || strings.ContainsAny(first, ".:") || strings.ToLower(first) != first
}

// matches compares without regard to case.
func matches(p, name string) bool { return pattern.Match(strings.ToLower(p), strings.ToLower(name)) }
