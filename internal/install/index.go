package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/durable"
)

const (
	indexFile   = "index.json"
	archiveTail = "." + TarGz
	keepNewest  = 10 // versions of a skill
)

// index is what is known of a skill's versions.
type index struct {
	Last     int                 `json:"last"`               // the number of the newest version that there was
	Current  string              `json:"current"`            // the version that is to be used
	Doing    string              `json:"doing,omitempty"`    // publish or remove: it is decided, and perhaps not carried out yet
	Versions []catalog.Installed `json:"versions,omitempty"` // the oldest first
}

const (
	publishing = "publish"
	removing   = "remove"
)

func (x *index) find(version string) *catalog.Installed {
	i := slices.IndexFunc(x.Versions, func(v catalog.Installed) bool { return v.Version == version })
	if i < 0 {
		return nil
	}
	return &x.Versions[i]
}

// digest is that of the current version.
func (x *index) digest() string {
	if v := x.find(x.Current); v != nil {
		return v.Digest
	}
	return ""
}

// next is the index with one more version, which is the current one.
func (x *index) next(v catalog.Installed) *index {
	out := &index{Last: x.Last + 1, Doing: publishing, Versions: slices.Clone(x.Versions)}
	v.Version = "v" + strconv.Itoa(out.Last)
	out.Current = v.Version
	out.Versions = append(out.Versions, v)
	return out
}

// pruned is the index without what is too old to be kept.
func (x *index) pruned() *index {
	out := *x
	out.Versions = nil
	for i, v := range x.Versions {
		if len(x.Versions)-i <= keepNewest || v.Version == x.Current {
			out.Versions = append(out.Versions, v)
		}
	}
	return &out
}

func (in *Installer) versions(name string) string { return filepath.Join(in.dir, ".versions", name) }

func (in *Installer) kept(name, version string) string {
	return filepath.Join(in.versions(name), version+archiveTail)
}

// read returns the index of a skill; where it was never installed one that is empty.
func (in *Installer) read(name string) (*index, error) {
	file := filepath.Join(in.versions(name), indexFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &index{}, nil
	}
	if err != nil {
		return nil, err
	}
	x := &index{}
	if err := json.Unmarshal(text, x); err != nil {
		return nil, fmt.Errorf("%s can't be read (%w): remove the folder to forget the versions of the skill", file, err)
	}
	return x, nil
}

// write replaces the index: all of it or nothing.
func (in *Installer) write(name string, x *index) error {
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	if err := in.step("index " + x.Doing); err != nil {
		return err
	}
	half := filepath.Join(in.versions(name), indexFile+".new")
	if err := writeFile(half, append(text, '\n')); err != nil {
		return errors.Join(err, os.Remove(half))
	}
	return durable.Rename(half, filepath.Join(in.versions(name), indexFile))
}

func writeFile(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// prune removes archives that the index doesn't know.
func (in *Installer) prune(name string, x *index) error {
	entries, err := os.ReadDir(in.versions(name))
	errs := []error{err}
	for _, e := range entries {
		version, isArchive := strings.CutSuffix(e.Name(), archiveTail)
		if e.Name() != indexFile && (!isArchive || x.find(version) == nil) {
			errs = append(errs, os.Remove(filepath.Join(in.versions(name), e.Name())))
		}
	}
	return errors.Join(errs...)
}
