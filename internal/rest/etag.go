package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hotcell/hotcell/internal/catalog"
)

// noRevision is one that nothing has: a write with it fails after it was found out whether the caller may write at all.
const noRevision = -2

// revisionTag is the ETag of what has a revision. The id beside it tells a thing from another that took its name.
func revisionTag(id, revision int64) string { return fmt.Sprintf(`"%d-%d"`, id, revision) }

// contentTag is the ETag of an answer that has no revision.
func contentTag(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}

// tagged gives an answer with its ETag, or 304 to a client that has it already. Its client may keep it, but has to ask.
func tagged[T any](w http.ResponseWriter, r *http.Request, tag string, value T) error {
	if unchanged(w, r, tag) {
		return nil
	}
	return give(w, http.StatusOK, value)
}

// unchanged sets an ETag, and answers with 304 where the client has that.
func unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	if !matches(r.Header.Values("If-None-Match"), tag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// matches reports whether a list of ETags has one, or is "*". Weak ones count: what we compare is never weak.
func matches(lines []string, tag string) bool {
	for _, t := range entityTags(lines) {
		if t == "*" || strings.TrimPrefix(t, "W/") == tag {
			return true
		}
	}
	return false
}

// entityTags splits the values of If-Match and If-None-Match. None of our ETags has a comma.
func entityTags(lines []string) (all []string) {
	for t := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		if t = strings.TrimSpace(t); t != "" {
			all = append(all, t)
		}
	}
	return all
}

// wanted is the revision that a write replaces, of what current tells: what If-Match names, or any where there is no such
// header. An If-Match that names another state names no revision at all, so that the catalog refuses it, but only after who
// asks turned out to be somebody who may write. The catalog compares once more, as it writes.
func wanted(r *http.Request, current func() (id, revision int64, err error)) int64 {
	lines := r.Header.Values("If-Match")
	if len(lines) == 0 {
		return catalog.AnyRevision
	}
	id, revision, err := current()
	if err != nil {
		return noRevision
	}
	tag := revisionTag(id, revision)
	if matchesStrongly(lines, tag) {
		return revision
	}
	return noRevision
}

// matchesStrongly is how If-Match compares: a weak ETag is another one.
func matchesStrongly(lines []string, tag string) bool {
	all := entityTags(lines)
	return slices.Contains(all, "*") || slices.Contains(all, tag)
}

// wantedDigest is the digest that an upload replaces; "" is any.
func wantedDigest(r *http.Request) (string, error) {
	all := entityTags(r.Header.Values("If-Match"))
	switch {
	case len(all) == 0, len(all) == 1 && all[0] == "*":
		return "", nil
	case len(all) > 1:
		return "", invalid("If-Match: expected one ETag, got %d", len(all))
	}
	return strings.Trim(all[0], `"`), nil
}
