package host

import (
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/sandbox"
)

// RunnerImage is the image that the nodes of a cluster must have for the driver kubernetes: the runner, under the name that
// pods start it by, and the trees of the runner and the engine, each under its name and digest.
func RunnerImage(programs fs.FS, arch, ref string) (*images.Layered, error) {
	img := &images.Layered{Ref: ref, Arch: arch}
	for _, make := range []func(fs.FS, string) (sandbox.Tree, error){RunnerTree, engineTree} {
		t, err := make(programs, arch)
		if err != nil {
			return nil, err
		}
		if err := addTree(img, t); err != nil {
			return nil, err
		}
	}
	for _, f := range img.Files {
		if strings.HasPrefix(f.Name, "trees/runner-") && path.Base(f.Name) == "runner" {
			img.Files = append(img.Files, images.LayerFile{Name: "hotcell-runner", Mode: f.Mode, LinkTo: f.Name})
			break
		}
	}
	return img, nil
}

func addTree(img *images.Layered, t sandbox.Tree) error {
	return fs.WalkDir(t.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		img.Files = append(img.Files, images.LayerFile{
			Name: "trees/" + t.Name + "-" + t.Digest + "/" + name, Mode: int64(info.Mode().Perm()), Size: info.Size(),
			Open: func() (io.ReadCloser, error) { return t.FS.Open(name) },
		})
		return nil
	})
}
