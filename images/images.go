package images

import (
	"context"
	"fmt"
	"time"
)

// PullPolicy says when an image is fetched.
type PullPolicy string

// The pull policies.
const (
	PullMissing PullPolicy = "missing" // fetch what is not present; the default
	PullNever   PullPolicy = "never"
	PullAlways  PullPolicy = "always" // fetch before every call, fall back to nothing
)

// ParsePullPolicy reads a policy's word; "" is [PullMissing].
func ParsePullPolicy(s string) (PullPolicy, error) {
	switch p := PullPolicy(s); p {
	case "":
		return PullMissing, nil
	case PullMissing, PullNever, PullAlways:
		return p, nil
	}
	return "", fmt.Errorf("pull policy %q: expected missing, never or always", s)
}

// Image is a pinned image that is present on the engine.
type Image struct {
	Ref        string // as asked for
	ID         string // the engine's content id
	RepoDigest string // "repo@sha256:...", "" for images that were loaded or built here
	OS, Arch   string // GOOS and GOARCH words
	Size       int64  // bytes
	Created    time.Time
	Env        []string // KEY=VALUE
	Entrypoint []string
	Cmd        []string
	Volumes    []string // sorted
	User       string
	WorkingDir string
}

// UnavailableError says that an image is not to be had. It is the answer of a [Store] when the engine works and the
// image does not; an engine that does not answer is another error.
type UnavailableError struct {
	Ref       string
	Why       string // one line: "not present and the pull policy is never", "registry: denied"
	Retryable bool   // the pull failed on the way, so another try may succeed
}

// PullFirst is what reasons end with where a call did not get its image from a registry: advice for those who did not ask for a pull.
const PullFirst = ": build or pull it first"

// Error names the image and the reason.
func (e *UnavailableError) Error() string { return fmt.Sprintf("image %s: %s", e.Ref, e.Why) }

// Store resolves images on one engine.
type Store interface {
	// Resolve returns the pinned image behind ref, fetching it if the policy says so. It fails with *UnavailableError.
	Resolve(ctx context.Context, ref string, pull PullPolicy) (Image, error)
}
