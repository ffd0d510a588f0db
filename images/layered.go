package images

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Layered is an image of one layer that is made here, of files that somebody has: what the nodes of a cluster are to have, for
// whoever brings it there.
type Layered struct {
	Ref    string // "hotcell/runner:1.2.0"
	Arch   string // GOARCH
	Files  []LayerFile
	Config map[string]any // an OCI image's "config"; nil: none
}

// LayerFile is a file of a [Layered] image, or with LinkTo another name of an earlier one.
type LayerFile struct {
	Name   string // "trees/x/runner"
	Mode   int64
	Size   int64
	LinkTo string
	Open   func() (io.ReadCloser, error)
}

// Write writes the image in the form that docker save has, and returns its content id. Equal images have equal bytes.
func (l *Layered) Write(w io.Writer) (id string, err error) {
	sum, size := sha256.New(), &counted{}
	if err := l.layer(io.MultiWriter(sum, size)); err != nil {
		return "", err
	}
	config, err := json.Marshal(map[string]any{
		"os": "linux", "architecture": l.Arch, "created": "1970-01-01T00:00:00Z", "config": orEmpty(l.Config),
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum.Sum(nil))}},
		"history": []map[string]any{{"created": "1970-01-01T00:00:00Z", "created_by": "hotcell"}},
	})
	if err != nil {
		return "", err
	}
	name := digest(config) + ".json"
	manifest, err := json.Marshal([]map[string]any{{"Config": name, "RepoTags": []string{l.Ref}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return "", err
	}
	tw := tar.NewWriter(w)
	for _, e := range []entry{{name, config}, {"manifest.json", manifest}} {
		if err := header(tw, LayerFile{Name: e.name, Mode: 0o644, Size: int64(len(e.data))}); err != nil {
			return "", err
		}
		if _, err := tw.Write(e.data); err != nil {
			return "", err
		}
	}
	if err := header(tw, LayerFile{Name: "layer.tar", Mode: 0o644, Size: size.n}); err != nil {
		return "", err
	}
	if err := l.layer(tw); err != nil {
		return "", err
	}
	return "sha256:" + digest(config), tw.Close()
}

func (l *Layered) layer(w io.Writer) error {
	tw := tar.NewWriter(w)
	for _, f := range l.Files {
		if err := header(tw, f); err != nil {
			return err
		}
		if f.LinkTo != "" {
			continue
		}
		if err := content(tw, f); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return tw.Close()
}

func header(tw *tar.Writer, f LayerFile) error {
	h := &tar.Header{Name: f.Name, Typeflag: tar.TypeReg, Mode: f.Mode, Size: f.Size, ModTime: time.Unix(0, 0)}
	if f.LinkTo != "" {
		h.Typeflag, h.Linkname, h.Size = tar.TypeLink, f.LinkTo, 0
	}
	return tw.WriteHeader(h)
}

func content(w io.Writer, f LayerFile) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}

func orEmpty(config map[string]any) map[string]any {
	if config == nil {
		return map[string]any{}
	}
	return config
}

// counted counts what is written.
type counted struct{ n int64 }

func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
