package rest

import (
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/catalog"
)

type (
	installedShown struct {
		Skill catalog.Installed `json:"skill"`
	}
	versionList struct {
		Versions []catalog.Installed `json:"versions"`
	}
	rollbackDraft struct {
		Version string `json:"version" doc:"one of the versions that are kept: v3"`
	}
)

const (
	maxBundle      = 64 << 20 // bytes of an archive
	bundlePatience = 2 * time.Minute
	maxUploads     = 4 // at once
	busyFor        = 5 // seconds after which to try again
)

// archives are the kinds of archives by content type.
var archives = map[string]string{"application/zip": "zip", "application/gzip": "tar.gz"}

// bundleRoutes are the bundles that operators upload.
func (a *api) bundleRoutes() []route {
	if a.installer == nil {
		return nil
	}
	digest := param{"If-Match", "header", "string", "The digest of the version that is replaced, as the ETag has it; another one fails with PRECONDITION_FAILED."}
	one := []out{good(data[installedShown]{})}
	return []route{
		{
			method: http.MethodPut, path: "/v1/skills/{name}", id: "install-skill", tag: tagBundles, scope: auth.Admin,
			summary: "Upload a bundle", about: "The archive of a skill's folder, at most 64 MiB: application/zip, or application/gzip for a tar.gz. " +
				"All of it is checked before anything is written. The skill is there for the calls that follow; those in flight keep what they started with.",
			takes: body{content: []string{"application/zip", "application/gzip"}, max: maxBundle, patience: bundlePatience}, in: []byte{},
			params: []param{digest}, outs: one, serve: a.install,
			fails: []int{http.StatusPreconditionFailed, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
		},
		{
			method: http.MethodGet, path: "/v1/skills/{name}/versions", id: "list-skill-versions", tag: tagBundles, scope: auth.Admin,
			summary: "List the versions of an uploaded skill that are kept", outs: []out{good(data[versionList]{})},
			fails: []int{http.StatusNotFound}, serve: a.versions,
		},
		{
			method: http.MethodPost, path: "/v1/skills/{name}/rollback", id: "roll-back-skill", tag: tagBundles, scope: auth.Admin,
			summary: "Make an earlier version the current one", params: []param{digest}, in: rollbackDraft{}, outs: one, serve: a.rollback,
			fails: []int{http.StatusNotFound, http.StatusPreconditionFailed, http.StatusUnprocessableEntity},
		},
		{
			method: http.MethodDelete, path: "/v1/skills/{name}", id: "remove-skill", tag: tagBundles, scope: auth.Admin,
			summary: "Remove an uploaded skill", params: []param{digest}, outs: []out{good(data[removedBody]{})}, serve: a.remove,
			fails: []int{http.StatusNotFound, http.StatusPreconditionFailed},
		},
	}
}

func (a *api) install(w http.ResponseWriter, r *http.Request) error {
	match, err := wantedDigest(r)
	if err != nil {
		return err
	}
	select {
	case a.uploads <- struct{}{}:
		defer func() { <-a.uploads }()
	default:
		p := problemf(http.StatusServiceUnavailable, "busy", "%d bundles are being uploaded already: try again later", maxUploads)
		p.retryAfter = busyFor
		return p
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // the listener has looked at it
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Now().Add(bundlePatience + writeTimeout))
	archive := &noting{from: r.Body}
	made, err := a.installer.Install(r.Context(), skillName(r), archives[kind], archive, match)
	switch {
	case err != nil && archive.err != nil: // whatever the installer makes of half an archive
		return unread(archive.err)
	case err != nil:
		return err
	}
	return giveInstalled(w, made)
}

// noting is a reader that keeps why it ended, unless that is its end.
type noting struct {
	from io.Reader
	err  error
}

func (n *noting) Read(b []byte) (int, error) {
	c, err := n.from.Read(b)
	if err != nil && err != io.EOF {
		n.err = err
	}
	return c, err
}

func giveInstalled(w http.ResponseWriter, made *catalog.Installed) error {
	w.Header().Set("ETag", `"`+made.Digest+`"`)
	return give(w, http.StatusOK, installedShown{*made})
}

func (a *api) versions(w http.ResponseWriter, r *http.Request) error {
	all, err := a.installer.Versions(r.Context(), skillName(r))
	if err != nil {
		return err
	}
	for _, v := range all {
		if v.Current {
			w.Header().Set("ETag", `"`+v.Digest+`"`)
		}
	}
	return give(w, http.StatusOK, versionList{listed(all)})
}

func (a *api) rollback(w http.ResponseWriter, r *http.Request) error {
	match, err := wantedDigest(r)
	if err != nil {
		return err
	}
	f, err := readFields(r, false)
	if err != nil {
		return err
	}
	version := f.text("version")
	if err := f.end(); err != nil {
		return err
	}
	if version == nil || *version == "" {
		return invalid("version: expected one of the versions that are kept")
	}
	made, err := a.installer.Rollback(r.Context(), skillName(r), *version, match)
	if err != nil {
		return err
	}
	return giveInstalled(w, made)
}

func (a *api) remove(w http.ResponseWriter, r *http.Request) error {
	match, err := wantedDigest(r)
	if err != nil {
		return err
	}
	if err := readNothing(r); err != nil {
		return err
	}
	if err := a.installer.Remove(r.Context(), skillName(r), match); err != nil {
		return err
	}
	return give(w, http.StatusOK, removedBody{true, skillName(r)})
}
