package console

import (
	"context"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

const (
	mostFiles    = 1000     // artifacts that are listed
	shownFile    = 64 << 10 // bytes of a text that are shown
	shownImage   = 16 << 20 // bytes of an image that is shown
	sniffed      = 512      // bytes that tell what kind of image it is
	pieceTimeout = time.Minute
)

// file is an artifact.
type file struct {
	Name  string
	Mime  string // what the skill says that it is
	Bytes int64
	Whole bool // the last piece is there, and none before it is missing
	Look  bool // it may be a text or an image
}

// files are the artifacts of a call, as its events have them.
type files struct {
	All  []*file
	More bool // than are listed
	seq  int
	gap  bool
}

func (f *files) find(name string) *file {
	i := slices.IndexFunc(f.All, func(one *file) bool { return one.Name == name })
	if i < 0 {
		return nil
	}
	return f.All[i]
}

// put takes an event.
func (f *files) put(ev *a2e.Event) {
	f.gap = f.gap || ev.Seq != f.seq
	f.seq = ev.Seq + 1
	if ev.Kind != a2e.KindArtifact {
		return
	}
	name, _ := ev.Data["name"].(string)
	one := f.find(name)
	switch {
	case one == nil && len(f.All) == mostFiles:
		f.More = true
		return
	case one != nil && one.Whole:
		return
	case one == nil:
		kind, _ := ev.Data["mime"].(string)
		one = &file{Name: name, Mime: clip(kind, 100), Look: lookable(name, kind)}
		f.All = append(f.All, one)
	}
	one.Bytes += chunkSize(ev)
	final, _ := ev.Data["final"].(bool)
	one.Whole = final && !f.gap
}

// filesOf lists the artifacts of a call.
func (v *visit) filesOf(ctx context.Context, id string) (*files, error) {
	f := &files{}
	return f, control.Said(ctx, v.calls(), id, func(ev *a2e.Event) bool { f.put(ev); return true })
}

var textNames = []string{
	".txt", ".md", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".toml", ".xml", ".html", ".htm", ".svg", ".log", ".py", ".js", ".ts",
	".go", ".sh", ".css", ".sql", ".diff", ".patch", ".ini", ".conf", ".rst", ".tex",
}

var imageKinds = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// lookable reports whether an artifact is worth being looked at, by what is said of it. What it is shown as depends on its bytes.
func lookable(name, kind string) bool {
	kind, _, _ = mime.ParseMediaType(kind)
	return strings.HasPrefix(kind, "text/") || kind == "application/json" || slices.Contains(imageKinds, kind) ||
		slices.Contains(append(slices.Clip(textNames), ".png", ".jpg", ".jpeg", ".gif", ".webp"), strings.ToLower(path.Ext(name)))
}

// wanted is the artifact that an address names.
func (v *visit) wanted() (control.Call, *file, error) {
	leave, err := v.reading()
	if err != nil {
		return control.Call{}, nil, err
	}
	defer leave()
	call, _, err := v.calls().Show(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return call, nil, err
	}
	all, err := v.filesOf(v.ctx(), call.ID)
	if err != nil {
		return call, nil, err
	}
	name := v.r.URL.Query().Get("name")
	one := all.find(name)
	switch {
	case one == nil:
		return call, nil, &trouble{status: http.StatusNotFound, title: "No such file", message: "The call left no file of this name, or it is not kept any more."}
	case !one.Whole && !call.State.Terminal():
		return call, nil, &trouble{status: http.StatusConflict, title: "Not yet", message: "The call still writes this file. Try again once it has ended."}
	case !one.Whole:
		return call, nil, &trouble{status: http.StatusGone, title: "Not whole", message: "Pieces of this file are missing, so it is not given: the call ended while it wrote it, or its events are too old to be kept."}
	}
	return call, one, nil
}

// pieces calls f with the bytes of an artifact, piece by piece, until it says no.
func (v *visit) pieces(ctx context.Context, id, name string, f func([]byte) bool) error {
	done := false
	return control.Said(ctx, v.calls(), id, func(ev *a2e.Event) bool {
		if said, _ := ev.Data["name"].(string); ev.Kind != a2e.KindArtifact || said != name {
			return true
		}
		piece, err := a2e.PieceOf(ev)
		done = err != nil || piece.Final
		return f(piece.Content) && !done
	})
}

// download sends an artifact as a file to be saved, whatever it is.
func (v *visit) download() error {
	call, one, err := v.wanted()
	if err != nil {
		return err
	}
	v.asFile("application/octet-stream", one.Name)
	v.send(call.ID, one)
	return nil
}

// asFile has a browser save what follows under the last element of a name, and never show it.
func (v *visit) asFile(kind, name string) {
	v.sealed(kind)
	v.w.Header().Set("Content-Disposition", saved(name))
}

// sealed has a browser take what follows for what it is said to be, and run nothing of it.
func (v *visit) sealed(kind string) {
	h := v.w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
}

// send sends an artifact piece by piece. Where it can't be sent whole the connection breaks, so that nobody takes it for that.
func (v *visit) send(id string, one *file) {
	v.w.Header().Set("Content-Length", strconv.FormatInt(one.Bytes, 10))
	c := http.NewResponseController(v.w)
	sent, gone := int64(0), error(nil)
	err := v.pieces(v.ctx(), id, one.Name, func(b []byte) bool {
		b = b[:min(int64(len(b)), one.Bytes-sent)]
		sent += int64(len(b))
		_ = c.SetWriteDeadline(time.Now().Add(pieceTimeout))
		_, gone = v.w.Write(b)
		return gone == nil && sent < one.Bytes
	})
	if gone != nil || err != nil || sent < one.Bytes {
		panic(http.ErrAbortHandler) // the length tells the browser that it is not whole
	}
}

// saved tells a browser to save a file, under the last element of its name.
func saved(name string) string {
	base := path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	base = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || plainText(string(r)) == "\uFFFD" {
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

// beginning reads at most most bytes of an artifact.
func (v *visit) beginning(id, name string, most int) (b []byte, more bool, err error) {
	err = v.pieces(v.ctx(), id, name, func(piece []byte) bool {
		b = append(b, piece...)
		return len(b) <= most
	})
	if more = len(b) > most; more {
		b = b[:most]
	}
	return b, more, err
}

// fileView is the page of one artifact.
type fileView struct {
	Call  control.Call
	File  *file
	Text  string
	More  bool // there is more than is shown
	Image bool
	Other bool // it is neither
}

// look shows an artifact: a text as text, a raster image as that, and nothing else.
func (v *visit) look() error {
	call, one, err := v.wanted()
	if err != nil {
		return err
	}
	b, more, err := v.beginning(call.ID, one.Name, shownFile)
	if err != nil {
		return err
	}
	data := fileView{Call: call, File: one, More: more}
	switch {
	case imageKind(b) != "" && one.Bytes <= shownImage:
		data.Image = true
	case isText(b, more):
		data.Text = string(b)
	default:
		data.Other = true
	}
	return v.render("file", plainText(path.Base(one.Name)), data)
}

// imageKind is the type of a raster image by its first bytes; "": it is none that is shown.
func imageKind(b []byte) string {
	kind := http.DetectContentType(b)
	if slices.Contains(imageKinds, kind) {
		return kind
	}
	return ""
}

// isText reports whether bytes can be shown as text. The last rune may be cut.
func isText(b []byte, cut bool) bool {
	for i := 0; cut && i < utf8.UTFMax && len(b) > 0 && !utf8.Valid(b); i++ {
		b = b[:len(b)-1]
	}
	return utf8.Valid(b) && !slices.Contains(b, 0)
}

// picture sends a raster image, for the page that shows it. It is what its own bytes say, whatever the skill says.
func (v *visit) picture() error {
	call, one, err := v.wanted()
	if err != nil {
		return err
	}
	b, _, err := v.beginning(call.ID, one.Name, sniffed)
	kind := imageKind(b)
	switch {
	case err != nil:
		return err
	case one.Bytes > shownImage || kind == "":
		return &trouble{status: http.StatusNotFound, title: "No image", message: "This file is no image that is shown here. It can be downloaded."}
	}
	v.sealed(kind)
	v.send(call.ID, one)
	return nil
}
