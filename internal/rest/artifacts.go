package rest

import (
	"context"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

type (
	artifact struct {
		Name     string `json:"name"`
		Mime     string `json:"mime" doc:"what the skill says that it is"`
		Bytes    int64  `json:"bytes" doc:"of what is there"`
		Complete bool   `json:"complete" doc:"the last piece is there, and none before it is missing"`
		broken   bool   // a piece is no base64
	}
	artifactList struct {
		Artifacts []artifact `json:"artifacts"`
	}
)

const (
	maxArtifacts = 10_000 // of one call that are listed
	pieceTimeout = time.Minute
)

// artifactRoutes are the files that calls made.
func (a *api) artifactRoutes() []route {
	bad, none := http.StatusBadRequest, http.StatusNotFound
	return []route{
		{
			method: http.MethodGet, path: "/v1/calls/{id}/artifacts", id: "list-artifacts", large: true, tag: tagCalls, scope: auth.Calls,
			summary: "List the artifacts of a call", outs: []out{good(artifactList{})}, fails: []int{bad, none}, serve: a.listArtifacts,
		},
		{
			method: http.MethodGet, path: "/v1/calls/{id}/artifacts/{name}", deep: true, id: "download-artifact", large: true, tag: tagCalls, scope: auth.Calls,
			summary: "Download an artifact", about: "Its bytes, for saving: never to be shown by a browser as a page. The name may have slashes. What is not whole is " +
				"not given: 409 while the call runs, 410 where pieces are missing for good.",
			outs:  []out{{http.StatusOK, "the bytes", kindBytes, nil}},
			fails: []int{bad, none, http.StatusConflict, http.StatusGone}, serve: a.downloadArtifact,
		},
	}
}

// shelf are the artifacts of a call, as its events have them.
type shelf struct {
	order []*artifact
	named map[string]*artifact
	seq   int  // the next that is expected
	gap   bool // an event is missing that came before
}

// put takes an event.
func (s *shelf) put(ev *a2e.Event) {
	s.gap = s.gap || ev.Seq != s.seq
	s.seq = ev.Seq + 1
	if ev.Kind != a2e.KindArtifact {
		return
	}
	piece, err := a2e.PieceOf(ev)
	f := s.named[piece.Name]
	switch {
	case f == nil && len(s.order) == maxArtifacts, f != nil && f.Complete:
		return
	case f == nil:
		f = &artifact{Name: piece.Name, Mime: piece.Mime}
		s.named[piece.Name] = f
		s.order = append(s.order, f)
	}
	f.Bytes += int64(len(piece.Content))
	f.broken = f.broken || err != nil
	f.Complete = piece.Final && !s.gap && !f.broken
}

func (a *api) artifacts(ctx context.Context, id string) (*shelf, error) {
	s := &shelf{named: map[string]*artifact{}}
	return s, control.Said(ctx, a.calls(ctx), id, func(ev *a2e.Event) bool { s.put(ev); return true })
}

func (a *api) listArtifacts(w http.ResponseWriter, r *http.Request) error {
	id, err := callID(r)
	if err != nil {
		return err
	}
	s, err := a.artifacts(r.Context(), id)
	if err != nil {
		return err
	}
	all := make([]artifact, 0, len(s.order))
	for _, f := range s.order {
		all = append(all, *f)
	}
	reply(w, http.StatusOK, artifactList{all})
	return nil
}

// downloadArtifact looks for the artifact first, so that its size is known and nothing is given of one that is not whole, and
// sends it piece by piece then.
func (a *api) downloadArtifact(w http.ResponseWriter, r *http.Request) error {
	id, err := callID(r)
	if err != nil {
		return err
	}
	s, err := a.artifacts(r.Context(), id)
	if err != nil {
		return err
	}
	f := s.named[r.PathValue("name")]
	if f == nil {
		return problemf(http.StatusNotFound, "not_found", "no such artifact")
	}
	if !f.Complete {
		return a.incomplete(r.Context(), id, f)
	}
	c := lifted(w)
	h := w.Header()
	h.Set("Content-Type", safeType(f.Mime))
	h.Set("Content-Disposition", disposition(f.Name))
	h.Set("Content-Length", strconv.FormatInt(f.Bytes, 10))
	var sent int64
	err = control.Said(r.Context(), a.calls(r.Context()), id, func(ev *a2e.Event) bool {
		if ev.Kind != a2e.KindArtifact || ev.Data["name"] != f.Name {
			return true
		}
		piece, _ := a2e.PieceOf(ev)
		b := piece.Content
		b = b[:min(int64(len(b)), f.Bytes-sent)]
		sent += int64(len(b))
		_ = c.SetWriteDeadline(time.Now().Add(pieceTimeout))
		_, err := w.Write(b)
		return err == nil && sent < f.Bytes
	})
	if err != nil || sent < f.Bytes { // what was there a moment ago is gone, or the client is: its length tells
		a.log.Warn("an artifact was cut short", "call", clip(id, 80), "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// incomplete says why an artifact is not given.
func (a *api) incomplete(ctx context.Context, id string, f *artifact) error {
	call, _, err := a.calls(ctx).Show(ctx, id)
	switch {
	case err != nil:
		return err
	case !call.State.Terminal():
		return problemf(http.StatusConflict, "incomplete", "the call still writes this artifact: there are %d bytes so far", f.Bytes)
	case f.broken:
		return problemf(http.StatusGone, "incomplete", "the skill sent a piece of this artifact that is no base64")
	}
	return problemf(http.StatusGone, "incomplete", "pieces of this artifact are missing: there are %d bytes", f.Bytes)
}

// safeType is a content type that no browser runs: what the skill says where that is harmless.
func safeType(said string) string {
	kind, _, err := mime.ParseMediaType(said)
	if err != nil {
		return kindBytes
	}
	switch kind {
	case "text/plain", "text/csv", "text/markdown":
		return kind + "; charset=utf-8"
	case kindJSON, "application/pdf", "application/zip", "application/gzip", "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return kindBytes
}

// disposition tells a browser to save an artifact, under the last element of its name.
func disposition(name string) string {
	base := path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	base = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '_'
		}
		return r
	}, base)
	if base == "." || base == "/" || base == ".." {
		base = "artifact"
	}
	if d := mime.FormatMediaType("attachment", map[string]string{"filename": clip(base, 200)}); d != "" {
		return d
	}
	return "attachment"
}
