package images

import (
	"regexp"
	"strings"
)

// A name has an optional registry, tag and digest.
var namePattern = regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]{1,5})?/)?` + // registry
	`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*` + // path
	`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`)

const maxRef = 512

// IsName reports whether a reference is a valid name, with or without tag and digest.
func IsName(ref string) bool { return len(ref) <= maxRef && namePattern.MatchString(ref) }

// CanPin reports whether a reference is a tag, with or without a digest behind it.
func CanPin(ref string) bool {
	name, _, _ := strings.Cut(ref, "@")
	return IsName(ref) && Tag(name) != "" && name != Builtin
}

// Repository returns a reference's registry, and registry and path together, as an engine reads them: without tag and
// digest. Both are empty for an id, which names an image that no registry need know.
func Repository(ref string) (registry, repository string) {
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

// Tag returns the name under which a reference is pinned: its repository and its tag, "latest" where it has none. It is ""
// for a reference that pins its content itself, by a digest or as an id.
func Tag(ref string) string {
	if isID(ref) || strings.Contains(ref, "@") {
		return ""
	}
	_, repository := Repository(ref)
	if i := strings.LastIndexByte(ref, ':'); i > strings.LastIndexByte(ref, '/') {
		return repository + ref[i:]
	}
	return repository + ":latest"
}

// Digest returns the digest in a reference, or the reference where it is one. It is "" where it has none.
func Digest(ref string) string {
	if i := strings.LastIndexByte(ref, '@'); i >= 0 {
		ref = ref[i+1:]
	}
	if sum, ok := strings.CutPrefix(ref, "sha256:"); ok && len(sum) == 64 && isHex(sum) {
		return ref
	}
	return ""
}

// isID reports whether an engine could take a reference for an image's id, whole or cut short.
func isID(ref string) bool {
	id := strings.TrimPrefix(ref, "sha256:")
	return len(id) >= 12 && len(id) <= 64 && isHex(id)
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// isRegistry tells a registry from a user's name, by the rule that engines have.
func isRegistry(first string) bool {
	return first == "localhost" || strings.ContainsAny(first, ".:") || strings.ToLower(first) != first
}
