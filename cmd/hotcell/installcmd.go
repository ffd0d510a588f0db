package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/install"
	"github.com/hotcell/hotcell/internal/skills"
)

// installCmds are the commands about skills that an operator installs. They work on the data folder: a daemon that has the
// same one hears of it.
func (a *app) installCmds() []*cobra.Command {
	var name string
	var asJSON, versionsJSON, rollbackJSON bool
	add := &cobra.Command{
		Use:   "install FILE|DIR|-",
		Short: "Install a skill: a zip or tar.gz archive, or a folder",
		Long: "Install a skill: a zip or tar.gz archive of its folder (- is stdin), or the folder itself. It becomes the current version of the skill\n" +
			"of that name, and the newest ten are kept. All of it is checked before anything changes. A daemon with the same data\n" +
			"folder serves it at once; calls in flight keep what they started with.",
		Args: exactly("FILE|DIR|-"),
		RunE: func(c *cobra.Command, args []string) error { return a.installSkill(c.Context(), args[0], name, asJSON) },
	}
	add.Flags().StringVar(&name, "name", "", "`NAME` that the skill must have (default: whatever its SKILL.md says)")
	add.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	list := &cobra.Command{
		Use: "versions NAME", Short: "List the versions of an installed skill that are kept", Args: exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.listVersions(c.Context(), args[0], versionsJSON)
		},
	}
	list.Flags().BoolVar(&versionsJSON, "json", false, "print JSON")
	back := &cobra.Command{
		Use: "rollback NAME VERSION", Short: "Make another version of an installed skill the current one", Args: exactly("NAME", "VERSION"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.rollbackSkill(c.Context(), args[0], args[1], rollbackJSON)
		},
	}
	back.Flags().BoolVar(&rollbackJSON, "json", false, "print JSON")
	remove := &cobra.Command{
		Use: "uninstall NAME", Short: "Remove an installed skill with all its versions", Args: exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error { return a.uninstallSkill(c.Context(), args[0]) },
	}
	return []*cobra.Command{add, list, back, remove}
}

func (a *app) installer(ctx context.Context) (*install.Installer, *config.Config, error) {
	cfg, _, err := a.settings()
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range []string{cfg.DataDir, cfg.InstalledSkills()} {
		if err := host.DataFolder(dir); err != nil {
			return nil, nil, err
		}
	}
	in, err := host.OpenInstaller(ctx, cfg, nil, a.logger(cfg, slog.LevelWarn))
	return in, cfg, err
}

func (a *app) installSkill(ctx context.Context, path, name string, asJSON bool) error {
	if name != "" && !skills.ValidName(name) {
		return usagef("--name %q can't be a skill's name: expected 1 to 64 of a-z, 0-9 and single hyphens", oneLine(name, 80))
	}
	put := a.installFile
	if info, err := os.Stat(path); path != "-" {
		switch {
		case err != nil:
			return usagef("%w", plainPathError(err))
		case info.IsDir():
			put = installFolder
		}
	}
	in, cfg, err := a.installer(ctx)
	if err != nil {
		return err
	}
	got, err := put(ctx, in, path, name)
	if err != nil {
		return a.notInstalled(path, err)
	}
	a.warnOfInstalled(cfg, got)
	if asJSON {
		return a.printJSON(got)
	}
	a.out.line(fmt.Sprintf("%s %s is installed: %d %s, %s, sha256:%.12s", got.Name, got.Version, got.Files, plural(got.Files, "file", "files"), size(got.Bytes), got.Digest))
	return a.out.failed()
}

func (a *app) installFile(ctx context.Context, in *install.Installer, path, name string) (*catalog.Installed, error) {
	f := a.stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, usagef("%w", plainPathError(err))
		}
		defer file.Close()
		f = file
	}
	first := make([]byte, 4)
	n, err := io.ReadFull(f, first)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, usagef("%w", plainPathError(err))
	}
	kind := install.Sniff(first[:n])
	if kind == "" {
		return nil, usagef("%s: expected a zip or tar.gz archive, or the folder of a skill", oneLine(path, 200))
	}
	return in.Install(ctx, name, kind, io.MultiReader(bytes.NewReader(first[:n]), f), "") // a pipe can't be read again
}

// installFolder hands over what hotcell would read of a folder.
func installFolder(ctx context.Context, in *install.Installer, path, name string) (*catalog.Installed, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, usagef("%w", plainPathError(err))
	}
	defer root.Close()
	bundle, found := skills.ReadBundle(root.FS())
	for _, f := range found {
		if f.Severity == skills.SeverityError {
			return nil, fmt.Errorf("%s", f)
		}
	}
	r, w := io.Pipe()
	var group sync.WaitGroup
	defer group.Wait()
	defer r.Close()
	group.Go(func() { w.CloseWithError(install.Pack(w, bundle.FS)) })
	return in.Install(ctx, name, install.TarGz, r, "")
}

// notInstalled says why, each finding on a line of its own.
func (a *app) notInstalled(path string, err error) error {
	var told *catalog.Error
	if !errors.As(err, &told) {
		return err
	}
	if len(told.Errors) == 0 {
		return fmt.Errorf("%s: %s", oneLine(path, 200), oneLine(told.Message, 1000))
	}
	for _, f := range told.Errors {
		a.errs.line("hotcell: " + oneLine(path+": "+placed(f), 1200))
	}
	return silent(exitFailed)
}

// placed is a finding with its place, where it has one.
func placed(f catalog.Finding) string {
	text := fmt.Sprintf("%s [%s]", f.Message, f.Code)
	if f.Line > 0 {
		text = strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column) + ": " + text
	}
	if f.File != "" {
		text = f.File + ":" + text
	}
	return text
}

// warnOfInstalled says what an operator would not expect of a skill that is installed.
func (a *app) warnOfInstalled(cfg *config.Config, got *catalog.Installed) {
	for _, f := range got.Warnings {
		a.errs.line("hotcell: warning: " + oneLine(placed(f), 1000))
	}
	lib, err := a.loadLibrary(cfg)
	if err != nil {
		return // it is installed, and the next command will say so
	}
	s, _ := lib.Find(got.Name)
	switch {
	case s == nil:
	case s.Source != skills.SourceInstalled:
		a.errs.line(fmt.Sprintf("hotcell: warning: %s is used instead: the source %q comes first", oneLine(s.Path, 300), oneLine(s.Source, 40)))
	case s.Status != skills.Published:
		a.errs.line(fmt.Sprintf("hotcell: warning: nobody can call it: it is %s", statusText(s)))
	}
}

func (a *app) listVersions(ctx context.Context, name string, asJSON bool) error {
	in, _, err := a.installer(ctx)
	if err != nil {
		return err
	}
	list, err := in.Versions(ctx, name)
	if err != nil {
		return notThere(err)
	}
	if asJSON {
		return a.printJSON(list)
	}
	var rows [][]string
	for _, v := range list {
		current := ""
		if v.Current {
			current = "*"
		}
		rows = append(rows, []string{v.Version, current, v.Uploaded.Format("2006-01-02 15:04:05"), strconv.Itoa(v.Files), size(v.Bytes), fmt.Sprintf("%.12s", v.Digest)})
	}
	table(a.out, []string{"VERSION", "CURRENT", "INSTALLED (UTC)", "FILES", "SIZE", "SHA256"}, rows)
	return a.out.failed()
}

func (a *app) rollbackSkill(ctx context.Context, name, version string, asJSON bool) error {
	in, cfg, err := a.installer(ctx)
	if err != nil {
		return err
	}
	got, err := in.Rollback(ctx, name, version, "")
	if err != nil {
		return notThere(err)
	}
	a.warnOfInstalled(cfg, got)
	if asJSON {
		return a.printJSON(got)
	}
	a.out.line(fmt.Sprintf("%s is %s again: sha256:%.12s", got.Name, got.Version, got.Digest))
	return a.out.failed()
}

func (a *app) uninstallSkill(ctx context.Context, name string) error {
	in, _, err := a.installer(ctx)
	if err != nil {
		return err
	}
	if err := in.Remove(ctx, name, ""); err != nil {
		return notThere(err)
	}
	a.out.line(oneLine(name, 80) + " is removed.")
	return a.out.failed()
}

// notThere says what to do about a skill or a version that there isn't.
func notThere(err error) error {
	var told *catalog.Error
	switch {
	case !errors.As(err, &told):
		return err
	case told.Code == catalog.SkillNotFound:
		return usagef("%s It is not one that was installed: 'hotcell skills list' shows where skills come from.", oneLine(told.Message, 200))
	case told.Code == catalog.VersionNotFound:
		return usagef("%s 'hotcell skills versions' shows those that are kept.", oneLine(told.Message, 200))
	}
	return errors.New(oneLine(told.Message, 1000))
}
