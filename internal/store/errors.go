package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
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

// explain is one line that says which file cannot be used, why, and what to do.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("journal %s: %w: %s", path, plain(err), advice(err))
}

// plain drops the path that errors of the file system repeat.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func advice(err error) string {
	const elsewhere = "choose another folder with --data-dir or data_dir"
	switch {
	case errors.Is(err, errLongPath):
		return elsewhere
	case errors.Is(err, errForeign):
		return "choose another file with store.url or another folder with data_dir"
	case errors.Is(err, errNotRegular), errors.Is(err, errDangling):
		return "move it away, or " + elsewhere
	case errors.Is(err, errNewer):
		return "run that version, or " + elsewhere
	case errors.Is(err, errOpening):
		return "end it, or try again"
	case errors.Is(err, fs.ErrNotExist):
		return "make its folder, or " + elsewhere
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "let this user write there, or " + elsewhere
	case errors.Is(err, syscall.ENOSPC):
		return "make room, or " + elsewhere
	}
	switch primary(err) {
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return "it is damaged or no journal: move it away, and a new one is made"
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN, lib.SQLITE_AUTH:
		return "let this user write the file and its folder, or " + elsewhere
	case lib.SQLITE_FULL:
		return "make room, or " + elsewhere
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return "another process keeps it locked: end that, or try again"
	case lib.SQLITE_IOERR:
		return "make room or check the disk, or " + elsewhere
	}
	return "move it away, or " + elsewhere
}

// primary is the result code of SQLite without its finer part, or 0.
func primary(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// busy reports whether another process kept the file locked for too long.
func busy(err error) bool {
	c := primary(err)
	return c == lib.SQLITE_BUSY || c == lib.SQLITE_LOCKED
}
