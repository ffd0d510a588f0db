package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/host"
)

func (a *app) imagesCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "images",
		Short: "The images of cells: pins, pulls, and what may go",
		Long: "The images of cells. A tag is resolved once and pinned in hotcell.lock; pull and pin move it. A Docker engine has\n" +
			"its own images; those of cells that no engine makes (driver oci) are kept in the data folder, unpacked once.",
	}
	group(c)
	c.AddCommand(a.imagesImportCmd(), a.imagesListCmd(), a.imagesPinCmd(), a.imagesPruneCmd(), a.imagesPullCmd(), a.imagesRemoveCmd(), a.imagesRunnerCmd(), a.imagesUnpinCmd())
	return c
}

func (a *app) imagesImportCmd() *cobra.Command {
	var ref string
	c := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Take images out of an archive: of docker save, or in OCI's layout",
		Long: "Take images out of an archive: of docker save, or in OCI's layout, plain or with gzip.\n\n" +
			"  docker save hotcell/python:3 | hotcell images import -",
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error { return a.importImages(c.Context(), args[0], ref) },
	}
	c.Flags().StringVar(&ref, "ref", "", "`NAME` of the archive's only image (default: the names within)")
	return c
}

func (a *app) importImages(ctx context.Context, file, ref string) error {
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	in := a.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return usagef("%w", plainPathError(err))
		}
		defer func() { _ = f.Close() }() // read only
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return usagef("%s is a folder: expected an archive, as of docker save (a layout folder: tar -C %s -c . | hotcell images import -)", oneLine(file, 200), oneLine(file, 200))
		}
		in = f
	} else if in, err = something(in); err != nil {
		return err
	}
	if err := host.DataFolder(cfg.DataDir); err != nil {
		return err
	}
	store, err := host.Imported(cfg)
	if err != nil {
		return err
	}
	all, err := store.Import(ctx, in, ref)
	if err != nil {
		name := "import"
		if file != "-" {
			name = oneLine(file, 200)
		}
		return fmt.Errorf("%s: %s", name, oneLine(err.Error(), 500))
	}
	for _, img := range all {
		a.out.line(fmt.Sprintf("%s  %s", oneLine(img.Ref, 200), img.ID))
	}
	if err := a.repin(ctx, cfg, all); err != nil {
		return err
	}
	return a.out.failed()
}

// something is an input that is not empty: what a command that failed pipes here is.
func something(in io.Reader) (io.Reader, error) {
	b := bufio.NewReader(in)
	if _, err := b.Peek(1); errors.Is(err, io.EOF) {
		return nil, usagef("nothing on stdin: expected an archive, as docker save writes it")
	}
	return b, nil
}

func (a *app) imagesListCmd() *cobra.Command {
	var asJSON, offline bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List what is pinned, pulled or imported, and which tags have moved",
		Long: "List what is pinned, pulled or imported. A pinned tag that stands for other content by now, here or in its registry, is\n" +
			"stale: calls use what it is pinned to, until it is pulled or pinned anew. Registries are asked for 10 s at most.",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.listImages(c.Context(), asJSON, !offline)
		},
	}
	c.Flags().BoolVar(&offline, "offline", false, "do not ask registries what their tags are now")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) imagesRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove the name of an image that was imported, and the image where it has no other",
		Args:  exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, _, err := a.settings()
			if err != nil {
				return err
			}
			store, err := host.Imported(cfg)
			if err != nil {
				return err
			}
			err = store.Remove(c.Context(), args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return usagef("no image has the name %q: 'hotcell images list' shows those that were imported", oneLine(args[0], 200))
			}
			return err
		},
	}
}

func (a *app) listImages(ctx context.Context, asJSON, ask bool) error {
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	all, err := a.listAll(ctx, cfg, ask)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("data folder %s can't be read: choose another with --data-dir or data_dir", oneLine(cfg.DataDir, 200))
	}
	if err != nil {
		return plainly(err)
	}
	if asJSON {
		return a.printJSON(rowsJSON(all))
	}
	var rows [][]string
	for _, r := range all {
		state := r.State
		if r.Note != "" {
			state += ": " + oneLine(plainEngine(r.Note), 200)
		}
		size := "-"
		if r.Size > 0 || r.State == images.StateOwn {
			size = megabytes(r.Size)
		}
		rows = append(rows, []string{oneLine(r.Ref, 200), images.Short(cmp.Or(r.Digest, r.ID)), size, state})
	}
	table(a.out, []string{"IMAGE", "CONTENT", "SIZE", "STATE"}, rows)
	return a.out.failed()
}
