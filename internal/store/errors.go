package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// ErrClosed: the journal has been closed.
var ErrClosed = errors.New("the journal is closed")

var (
	errNotRegular = errors.New("not a regular file")
	errDangling   = errors.New("a link to nothing")
	errLongPath   = errors.New("its path is longer than 500 bytes")
	errForeign    = errors.New("a database of another program")
	errNewer      = errors.New("written by a newer hotcell")
	errReplaced   = errors.New("the journal's file was removed or replaced while it was in use: start hotcell again")
	errBehind     = errors.New("more came than could be written")
	errStuck      = errors.New("the disk does not answer")
	errOpening    = errors.New("another process has been opening it for too long")
)

// explain is one line that says which journal cannot be used, why, and what to do.
func explain(e engine, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("journal %s: %w: %s", e.name(), plain(err), advice(e, err))
}

// plain drops the path that errors of the file system repeat.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

const elsewhere = "choose another folder with --data-dir or data_dir"

func advice(e engine, err error) string {
	switch {
	case errors.Is(err, errLongPath):
		return elsewhere
	case errors.Is(err, errForeign):
		return "choose another file with store.url or another folder with data_dir"
	case errors.Is(err, errNotRegular), errors.Is(err, errDangling):
		return "move it away, or " + elsewhere
	case errors.Is(err, errNewer):
		return "run that version, or " + elsewhere
	case errors.Is(err, errOpening), errors.Is(err, errIntakeBusy):
		return "end it, or try again"
	case errors.Is(err, fs.ErrNotExist):
		return "make its folder, or " + elsewhere
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "let this user write there, or " + elsewhere
	case errors.Is(err, syscall.ENOSPC):
		return "make room, or " + elsewhere
	}
	return e.advice(err)
}
