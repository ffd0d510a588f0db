package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/durable"
)

// keyOf returns the key that seals the audit. Only one in a file of hotcell's own is made where there is none.
func keyOf(opts Options) (key audit.Key, made bool, err error) {
	if opts.Secret == nil {
		return openKey(opts.Key, opts.ReadKey)
	}
	if key, err = keyIn(opts.Secret); err != nil {
		err = fmt.Errorf("audit.key: %w in what it refers to: openssl rand -hex %d makes one", err, audit.KeyBytes)
	}
	return key, false, err
}

// keyIn reads a key. The error holds nothing of the text.
func keyIn(text []byte) (audit.Key, error) {
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != audit.KeyBytes {
		return audit.Key{}, fmt.Errorf("expected %d hex digits", 2*audit.KeyBytes)
	}
	return audit.NewKey(secret), nil
}

// openKey reads the key that seals the audit, and makes it where there is none; nobody else opens the journal meanwhile.
func openKey(path string, read bool) (key audit.Key, made bool, err error) {
	if path == "" {
		return audit.Key{}, false, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && read {
		return audit.Key{}, false, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		text, err = makeKey(path)
		made = true
	}
	if err != nil {
		return audit.Key{}, false, fmt.Errorf("key of the audit %s: %w: let this user read and write it", path, plain(err))
	}
	key, err = keyIn(text)
	if err != nil {
		return audit.Key{}, false, fmt.Errorf("key of the audit %s: %w: put the right file there, or move it away, and a new key is made", path, err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600) // another user's file is that user's to decide about
	}
	return key, made, nil
}

// makeKey writes a new key so that it is there whole or not at all.
func makeKey(path string) ([]byte, error) {
	secret := make([]byte, audit.KeyBytes)
	_, _ = rand.Read(secret) // never fails: crypto/rand ends the process instead
	text := hex.AppendEncode(nil, secret)
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return text, durable.Rename(next, path)
}

// noteKey enters into the audit that there is a new key. Where rows were sealed with another one, that one is gone.
func (s *Store) noteKey(ctx context.Context) error {
	return s.Record(ctx, audit.Entry{Kind: audit.KeyMade, Data: map[string]any{"key": s.key.String()}})
}

// warnOfKeys tells of a key that is another one than the last row was sealed with: what both seal can't be verified with one.
func (s *Store) warnOfKeys(ctx context.Context) {
	if s.leases == nil {
		return // a key in a file that was lost is made anew, which is on record
	}
	head, _, err := readMark(ctx, s.read, markHead)
	if err != nil || head.N == 0 {
		return
	}
	if mine := s.key.SealHead(head.AuditHead); !bytes.Equal(mine, head.Seal) {
		s.log.Warn("the audit was sealed with another key than this supervisor's, or with none: all that share the store need the same audit.key", "key", s.key.String())
	}
}
