package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/durable"
)

const (
	dirPerm = 0o700
	maxMeta = 8 << 20 // bytes of an index, a manifest or a configuration
)

// index is which reference is which image.
type index struct {
	Refs map[string]string `json:"refs"`           // full reference, or one with a digest → content id
	Held map[string]bool   `json:"held,omitempty"` // references by digest that were pulled: they need no tag
}

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

func hexOf(id string) string                { return strings.TrimPrefix(id, "sha256:") }
func (s *Store) rootfs(id string) string    { return s.path("rootfs", hexOf(id)) }
func (s *Store) meta(id string) string      { return s.path("meta", hexOf(id)+".json") }
func (s *Store) indexFile() string          { return s.path("index.json") }
func (s *Store) writeIndex(ix *index) error { return writeJSON(s.indexFile(), ix) }

func (s *Store) readIndex() (*index, error) {
	ix := &index{}
	err := readJSON(s.indexFile(), ix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if ix.Refs == nil {
		ix.Refs = make(map[string]string)
	}
	return ix, nil
}

func (s *Store) readMeta(id string) (images.Image, error) {
	var img images.Image
	err := readJSON(s.meta(id), &img)
	return img, err
}

func readJSON(file string, v any) error {
	data, err := readSmall(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is damaged (%w): import the images again", file, err)
	}
	return nil
}

// readSmall reads a file of bounded size.
func readSmall(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	data, err := io.ReadAll(io.LimitReader(f, maxMeta+1))
	if err == nil && len(data) > maxMeta {
		err = fmt.Errorf("%s is longer than %d bytes", filepath.Base(file), maxMeta)
	}
	return data, err
}

// writeJSON replaces a file at one stroke.
func writeJSON(file string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = durable.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
