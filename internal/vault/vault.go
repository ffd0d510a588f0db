package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/durable"
)

// Vault is a folder of secrets. It is safe for concurrent use, also by several processes: every file is written beside its
// place and moved there.
type Vault struct{ dir string }

// At returns the vault in a folder, which the first secret makes.
func At(dir string) *Vault { return &Vault{dir} }

const extension = ".age"

// Get returns a secret's value as it is now. It has the shape of [credentials.Resolver]'s Stored. No error holds a value.
func (v *Vault) Get(name string) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(v.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("stored:%s: there is no such secret: set it with 'hotcell secrets set %s'", name, name)
	}
	if err != nil {
		return nil, fmt.Errorf("stored:%s: %w", name, err)
	}
	id, err := v.readIdentity()
	if err != nil {
		return nil, fmt.Errorf("stored:%s: %w", name, err)
	}
	value, err := open(data, id)
	if err != nil {
		return nil, fmt.Errorf("stored:%s: the file cannot be decrypted: it is damaged, or was made for another %s; set the secret again", name, v.identityFile())
	}
	return value, nil
}

func open(data []byte, id age.Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(data), id)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, credentials.MaxValue+1))
}

// Set keeps a value under a name, in the place of an earlier one.
func (v *Vault) Set(name string, value []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	switch {
	case len(value) == 0:
		return errors.New("the value is empty")
	case len(value) > credentials.MaxValue:
		return fmt.Errorf("the value is longer than %d bytes", credentials.MaxValue)
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return err
	}
	id, err := v.identity()
	if err != nil {
		return err
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, id.Recipient())
	if err != nil {
		return err
	}
	if _, err := w.Write(value); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return v.write(sealed.Bytes(), func(temp string) error { return durable.Rename(temp, v.file(name)) })
}

// Names lists the secrets, sorted.
func (v *Vault) Names() ([]string, error) {
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok && credentials.Name(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Remove forgets a secret.
func (v *Vault) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	err := durable.Remove(v.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no secret %s: 'hotcell secrets list' shows those that are there", name)
	}
	return err
}

func (v *Vault) file(name string) string { return filepath.Join(v.dir, name+extension) }

func checkName(name string) error {
	if !credentials.Name(name) {
		return errors.New("expected a name of at most 64 letters, digits, _, - and ., with no dot first")
	}
	return nil
}
