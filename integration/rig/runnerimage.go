package rig

import (
	"io"
	"io/fs"
	"path"
	"runtime"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/sandbox"
)

// RunnerImage is the image that pods take a runner from, as `hotcell images runner` makes it, of a tree of [RunnerTree].
func RunnerImage(tree sandbox.Tree, ref string) (*images.Layered, error) {
	img := &images.Layered{Ref: ref, Arch: runtime.GOARCH}
	err := fs.WalkDir(tree.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		file := images.LayerFile{
			Name: path.Join("trees", tree.Name+"-"+tree.Digest, name), Mode: int64(info.Mode().Perm()), Size: info.Size(),
			Open: func() (io.ReadCloser, error) { return tree.FS.Open(name) },
		}
		img.Files = append(img.Files, file)
		if name == tree.Name {
			img.Files = append(img.Files, images.LayerFile{Name: "hotcell-runner", Mode: file.Mode, LinkTo: file.Name})
		}
		return nil
	})
	return img, err
}
