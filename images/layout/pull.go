package layout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crypto/rand"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/hotcell/hotcell/images"
	"golang.org/x/sys/unix"
)

// Remote says how images are fetched from registries.
type Remote struct {
	Limit  time.Duration  // of one pull; 0: 10 min
	Logins images.Logins  // nil: no registry wants one
	Ledger *images.Ledger // notes what is pulled; nil: nobody does
}

// pull fetches an image and takes it into the store. Callers who want the same one share a pull.
func (s *Store) pull(ctx context.Context, ref string) error {
	key, err := refKey(ref)
	if err != nil {
		return &images.UnavailableError{Ref: ref, Why: err.Error()}
	}
	err = s.pulls.Do(ctx, key, func(ctx context.Context, tell func(images.Progress)) error {
		login, err := s.bring(ctx, key, tell)
		if err == nil || errors.Is(context.Cause(ctx), images.ErrClosed) {
			return err
		}
		return s.unpulled(ctx, ref, login, err)
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("pull image %s: %w", ref, context.Cause(ctx))
	}
	return err
}

// bring returns the login that the registry was shown, too.
func (s *Store) bring(ctx context.Context, key string, tell func(images.Progress)) (*images.Login, error) {
	ref, err := name.ParseReference(key)
	if err != nil {
		return nil, err
	}
	login, err := s.login(ref)
	if err != nil {
		return nil, err
	}
	got, err := s.fetch(ctx, ref, login, tell)
	if err != nil {
		return login, err
	}
	defer got.done()
	return login, s.keep(ctx, key, got)
}

// keep takes what was fetched into the store.
func (s *Store) keep(ctx context.Context, key string, got *fetched) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.clear(); err != nil {
		return err
	}
	img, err := s.take(ctx, got.source)
	if err != nil {
		return &fault{"bad image: " + err.Error()}
	}
	fresh, err := s.hold(got.source, img)
	if err == nil && fresh && s.remote.Ledger != nil {
		_ = s.remote.Ledger.Add(ctx, img.ID, shortRef(key)) // it tries again where it can not now
	}
	return errors.Join(err, s.collect())
}

// hold makes a pulled image's references point to it, by tag and by digest. fresh: nothing pointed to it before.
func (s *Store) hold(src source, img images.Image) (fresh bool, err error) {
	index, err := s.readIndex()
	if err != nil {
		return false, err
	}
	fresh = true
	for _, id := range index.Refs {
		fresh = fresh && id != img.ID
	}
	key := src.refs[0]
	repo, _, tagged := cutTag(key)
	if tagged {
		index.Refs[key] = img.ID
		key = repo + "@" + src.digest
	}
	index.Refs[key] = img.ID
	if index.Held == nil {
		index.Held = map[string]bool{}
	}
	index.Held[key] = true
	index.prune()
	return fresh, s.writeIndex(index)
}

func (s *Store) login(ref name.Reference) (*images.Login, error) {
	if s.remote.Logins == nil {
		return nil, nil
	}
	registry := ref.Context().RegistryStr()
	if registry == name.DefaultRegistry {
		registry = "docker.io"
	}
	login, err := s.remote.Logins(registry)
	if err != nil {
		return nil, &fault{"no login for " + registry + ": " + err.Error()}
	}
	return login, nil
}

// unpulled says why an image was not pulled, and whether another try may help: what failed on the way may.
func (s *Store) unpulled(ctx context.Context, ref string, login *images.Login, err error) error {
	why, again := words(login, err), true
	var bad *fault
	var answer *transport.Error
	low := strings.ToLower(err.Error())
	switch {
	case errors.Is(context.Cause(ctx), images.ErrTooLong):
		why = fmt.Sprintf("took longer than %v", s.remote.Limit)
	case errors.As(err, &bad):
		why, again = bad.Error(), false
	case strings.Contains(low, "no child with platform"):
		why, again = "bad image: the registry has none for this machine's platform: "+why, false
	case strings.Contains(low, "error verifying"), strings.Contains(low, "does not match requested digest"), strings.Contains(low, "does not match expected size"):
		why, again = "the registry's answer does not have the digest that it should have, and was refused: "+why, false
	case errors.As(err, &answer):
		code := answer.StatusCode
		again = code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
	}
	return &images.UnavailableError{
		Ref: ref, Retryable: again,
		Why: fmt.Sprintf("could not be pulled: %s: pull or import it first (docker save %s | hotcell images import -)", why, ref),
	}
}

// words is an error on one line, of bounded length, without addresses, which may hold what lets others in, and without the login.
func words(login *images.Login, err error) string {
	var at *url.Error
	var answer *transport.Error
	text := err.Error()
	switch {
	case errors.As(err, &answer):
		text = fmt.Sprintf("the registry answers %d", answer.StatusCode)
		for _, d := range answer.Errors {
			text += fmt.Sprintf(", %s: %s", d.Code, d.Message)
		}
	case errors.As(err, &at):
		text = at.Err.Error()
		if u, e := url.Parse(at.URL); e == nil {
			text = u.Host + ": " + text
		}
	}
	text = strings.Join(strings.Fields(login.Hide(text)), " ")
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// scratch makes a folder for one pull, which its process holds a lock on: what has none is a dead one's.
func (s *Store) scratch() (dir string, done func(), err error) {
	if err := os.MkdirAll(s.path("pulls"), dirPerm); err != nil {
		return "", nil, err
	}
	for range 5 {
		dir = s.path("pulls", "pull-"+strings.ToLower(rand.Text()))
		if err := os.Mkdir(dir, dirPerm); err != nil {
			return "", nil, err
		}
		f, err := claim(dir)
		if err != nil {
			return "", nil, err
		}
		if _, err := os.Lstat(dir); f != nil && err == nil {
			return dir, func() { _ = errors.Join(os.RemoveAll(dir), f.Close()) }, nil
		}
		if f != nil { // taken for a dead one's before it was held
			_ = f.Close()
		}
	}
	return "", nil, fmt.Errorf("%s: somebody removes what is made there", s.path("pulls"))
}

// claim holds a folder, as long as what it returns is open: nil where somebody else does, or where it is gone.
func claim(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, nil
	}
	return f, nil
}

// clearPulls removes what pulls of dead processes left.
func (s *Store) clearPulls() error {
	left, err := os.ReadDir(s.path("pulls"))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range left {
		dir := filepath.Join(s.path("pulls"), e.Name())
		f, err := claim(dir)
		if f == nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, os.RemoveAll(dir), f.Close())
	}
	return errors.Join(errs...)
}

// Remote asks the registry which digest a tag has there.
func (s *Store) Remote(ctx context.Context, ref string) (string, error) {
	parsed, err := name.ParseReference(ref, name.WeakValidation)
	if err != nil {
		return "", fmt.Errorf("expected a reference like name:tag")
	}
	login, err := s.login(parsed)
	if err != nil {
		return "", err
	}
	opts, end := s.remoteOptions(ctx, parsed, login, newBudget(maxMeta))
	defer end()
	desc, err := remote.Head(parsed, opts...)
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", errors.New(words(login, err))
	}
	return desc.Digest.String(), nil
}
