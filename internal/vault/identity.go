package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/hotcell/hotcell/internal/durable"
)

func (v *Vault) identityFile() string { return filepath.Join(v.dir, "identity") }

// identity reads the key that everything is encrypted for, and makes it when there is none.
func (v *Vault) identity() (*age.X25519Identity, error) {
	id, err := v.readIdentity()
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	names, err := v.Names()
	if err != nil {
		return nil, err
	}
	if len(names) > 0 { // a new key would hide that the others are lost
		if id, err := v.readIdentity(); !errors.Is(err, fs.ErrNotExist) { // somebody made it a moment ago
			return id, err
		}
		return nil, fmt.Errorf("%s is gone, and what was kept for it cannot be read without it (%d secrets): bring it back, or remove them with 'hotcell secrets remove'",
			v.identityFile(), len(names))
	}
	if id, err = age.GenerateX25519Identity(); err != nil {
		return nil, err
	}
	// A link fails where somebody else was faster, and theirs counts.
	err = v.write([]byte(id.String()+"\n"), func(temp string) error { return durable.Link(temp, v.identityFile()) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return v.readIdentity()
}

func (v *Vault) readIdentity() (*age.X25519Identity, error) {
	info, err := os.Stat(v.identityFile())
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: expected a file that its owner alone can read: chmod 600", v.identityFile())
	}
	text, err := os.ReadFile(v.identityFile())
	if err != nil {
		return nil, err
	}
	id, err := age.ParseX25519Identity(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: this is no identity of age's", v.identityFile()) // the library's error may quote it
	}
	return id, nil
}

// write makes a whole file, readable by its owner alone, and lets place move or link it to where it belongs.
func (v *Vault) write(data []byte, place func(temp string) error) (err error) {
	f, err := os.CreateTemp(v.dir, ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone already where it was moved
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return place(f.Name())
}
