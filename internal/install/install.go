package install

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/skills"
)

const (
	maxSkills   = 5_000 // that are installed
	maxWarnings = 20    // that are kept of a version
	atOnce      = 2     // archives that are unpacked; others wait
)

// Options are what an [Installer] may be given.
type Options struct {
	Log     *slog.Logger
	Changed func(name string) // is called when the current version of a skill is another one than before
}

// Installer keeps the uploaded bundles of one folder. Several processes may have one for the same folder.
type Installer struct {
	dir     string
	log     *slog.Logger
	changed func(name string)
	turns   chan struct{}
	step    func(what string) error // a fault that a test wants there
}

var _ catalog.Installer = (*Installer)(nil)

// Open returns the installer of a folder, which must be there, and mends what processes left that died, unless another one is
// at work there at this moment: each change mends what it meets, too. Where a skill can't be mended the log says so, and its
// other skills are not kept from anybody.
func Open(ctx context.Context, dir string, o Options) (*Installer, error) {
	in := newInstaller(dir, o)
	f, err := in.openLock()
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f)
	if ok {
		err = errors.Join(in.recover(ctx), in.sweep())
	}
	if err := errors.Join(err, f.Close()); err != nil { // which unlocks
		in.log.Warn("installed skills: what was left is not mended", "error", err)
	}
	return in, nil
}

func newInstaller(dir string, o Options) *Installer {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	return &Installer{
		dir: dir, log: o.Log, changed: o.Changed, turns: make(chan struct{}, atOnce),
		step: func(string) error { return nil },
	}
}

// Install implements [catalog.Installer].
func (in *Installer) Install(ctx context.Context, name, kind string, upload io.Reader, match string) (*catalog.Installed, error) {
	if name != "" {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	if kind != Zip && kind != TarGz {
		return nil, bad(CodeKind, "", "archives of the kind %q are not taken; expected %s or %s", show(kind), Zip, TarGz)
	}
	s, err := in.stage()
	if err != nil {
		return nil, err
	}
	defer in.discard(s)
	a, done, err := s.spool(ctx, kind, upload)
	if err != nil {
		return nil, err
	}
	defer done()
	select { // not before: an upload may take its time
	case in.turns <- struct{}{}:
		defer func() { <-in.turns }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	made, err := in.make(ctx, s, name, a)
	if err != nil {
		return nil, err
	}
	got, changed, err := in.commit(ctx, made, match)
	if changed {
		in.changed(made.Name)
	}
	return got, err
}

func (in *Installer) discard(s *stage) {
	if err := s.remove(); err != nil {
		in.log.Warn("installed skills: a folder is left", "folder", s.dir, "error", err)
	}
}

func checkName(name string) error {
	if !skills.ValidName(name) {
		return fault(catalog.ValidationError, "%q can't be a skill's name: expected 1 to 64 of a-z, 0-9 and single hyphens", show(name))
	}
	return nil
}

// made is a bundle that was found to be one.
type made struct {
	catalog.Installed
	dir  string // its files
	file string // the same as an archive
}

// make checks an upload and unpacks it in the stage.
func (in *Installer) make(ctx context.Context, s *stage, name string, a archive) (*made, error) {
	names, err := a.check(ctx, false)
	if err != nil {
		return nil, err
	}
	root, err := names.root(name)
	if err != nil {
		return nil, err
	}
	dir := s.files(".new") // no skill has that name
	if err := a.unpack(ctx, root, dir); err != nil {
		return nil, err
	}
	if err := in.step("unpacked"); err != nil {
		return nil, err
	}
	m, err := judge(dir, name)
	if err != nil {
		return nil, err
	}
	m.file = s.path("version" + archiveTail)
	return m, pack(m.dir, m.file)
}

// judge says whether a skill is fit to be installed: what hotcell would not run is refused.
func judge(dir, name string) (*made, error) {
	if name == "" {
		if name = skills.NameOf(os.DirFS(dir)); name == "" {
			found, _ := skills.Lint(os.DirFS(dir), ".", skills.LintOptions{})
			return nil, &catalog.Error{Code: catalog.SkillInvalid, Message: "SKILL.md has no name that can be used", Errors: findings(found)}
		}
	}
	named := filepath.Join(filepath.Dir(dir), name)
	if err := os.Rename(dir, named); err != nil {
		return nil, err
	}
	found, _ := skills.Lint(os.DirFS(filepath.Dir(dir)), name, skills.LintOptions{})
	refused := slices.DeleteFunc(slices.Clone(found), func(f skills.Finding) bool {
		return f.Severity != skills.SeverityError || f.Code == skills.CodeMetadataValue // the skill does without the value
	})
	warnings := slices.DeleteFunc(slices.Clone(found), func(f skills.Finding) bool { return slices.Contains(refused, f) })
	if len(refused) > 0 {
		return nil, &catalog.Error{
			Code: catalog.SkillInvalid, Message: "the skill can't be used: " + refused[0].Message,
			Errors: findings(refused), Warnings: findings(warnings),
		}
	}
	bundle, err := bundleAt(named)
	if err != nil {
		return nil, err
	}
	return &made{dir: named, Installed: catalog.Installed{
		Name: name, Digest: bundle.Digest, Uploaded: time.Now().UTC().Truncate(time.Second), Files: bundle.Files, Bytes: bundle.Bytes,
		Warnings: findings(warnings[:min(len(warnings), maxWarnings)]),
	}}, nil
}

// pack writes the files of a folder as an archive that is the same for the same files.
func pack(dir, file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(Pack(f, os.DirFS(dir)), f.Sync(), f.Close())
}

// Pack writes the files of fsys, all of which must be plain ones, as a tar.gz archive.
func Pack(w io.Writer, fsys fs.FS) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	files := tar.NewWriter(packed)
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return packFile(files, fsys, name)
	})
	return errors.Join(err, files.Close(), packed.Close())
}

func packFile(files *tar.Writer, fsys fs.FS, name string) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644}
	if info.Mode()&0o111 != 0 {
		h.Mode = 0o755
	}
	if err := files.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(files, f)
	return err
}

// matches reports whether a caller's idea of the current version is right.
func matches(match, digest string) bool {
	match = strings.Trim(strings.TrimSpace(match), `"`)
	return match == "" || match == "*" && digest != "" || match == digest
}

func (x *index) match(match string) error {
	if matches(match, x.digest()) {
		return nil
	}
	if x.Current == "" {
		return fault(catalog.Conflict, "the skill is not installed, so that there is no version %s", show(match))
	}
	return fault(catalog.Conflict, "the current version is %s with the digest %s, not %s", x.Current, x.digest(), show(match))
}
