package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// intakeHead are the bytes before the first entry: up to where all was taken over, as 8 bytes, little endian, and 4 of their checksum.
// Zeros are those of a file of which nothing was.
const intakeHead = 12

// open opens the file, where it is not open.
func (in *intake) open() error {
	if in.f != nil {
		return nil
	}
	f, err := openRegular(in.path, in.synced)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(in.path), plain(err))
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	in.f, in.info = f, info
	in.begin()
	return nil
}

// openRegular opens a file that is no link and nothing else, readable by its owner alone, and makes it where there is none.
func openRegular(path string, synced bool) (*os.File, error) {
	const flags = os.O_RDWR | syscall.O_NOFOLLOW | syscall.O_NONBLOCK // which a pipe would wait without
	f, err := os.OpenFile(path, flags, 0)
	made := errors.Is(err, os.ErrNotExist)
	if made {
		f, err = os.OpenFile(path, flags|os.O_CREATE, 0o600)
	}
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENXIO):
		return nil, errNotRegular
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errNotRegular
	case info.Mode().Perm()&0o077 != 0:
		_ = f.Chmod(0o600) // another user's file is that user's to decide about
	}
	if err == nil && made && synced {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// syncFolder has the names in a folder on the disk.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// current reports whether the locked file is still the one at its path.
func (in *intake) current() (bool, error) {
	info, err := os.Lstat(in.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, in.info), err
}

// begin forgets where things are in a file. What waits is still to be taken over: it may have been in no other file.
func (in *intake) begin() {
	in.file++
	in.head, in.read, in.size = intakeHead, intakeHead, 0
	left := make([]entry, len(in.waiting))
	for i, e := range in.waiting {
		e.end = 0
		left[i] = e
	}
	in.waiting = left
}

// look reads what others wrote, and how far all was taken over. The caller has the lock.
func (in *intake) look() error {
	info, err := in.f.Stat()
	if err != nil {
		return err
	}
	if in.size = info.Size(); in.size < in.read && in.read > intakeHead { // somebody cut it, who does not know what it is
		in.came()
		in.begin()
		in.size = info.Size()
	}
	before := in.head
	if in.head, err = in.taken(); err != nil {
		return err
	}
	if in.head != before {
		in.forget(func(e *entry) bool { return 0 < e.end && e.end <= in.head })
	}
	if in.read < in.head {
		in.came()
		in.read = in.head
	}
	for in.read < in.size {
		news := make([]byte, min(in.size-in.read, 2*longestEntry))
		if _, err := in.f.ReadAt(news, in.read); err != nil {
			return err
		}
		if !in.learn(news) {
			return nil // the end, or what somebody was killed over
		}
	}
	return nil
}

// learn notes the entries that others wrote, and reports whether there were any.
func (in *intake) learn(news []byte) (any bool) {
	for {
		e, n := unpackEntry(news)
		if n == 0 {
			return any
		}
		if !any {
			in.came()
		}
		any = true
		news = news[n:]
		in.read += int64(n)
		in.add(e)
	}
}

// taken returns up to where the file says that all was taken over. Where it lost its end with the power, or its beginning, it is put right, so
// that nothing that comes next passes for taken over: what is taken over once more changes nothing.
func (in *intake) taken() (int64, error) {
	var b [intakeHead]byte
	if n, err := in.f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	} else if n == 0 || b == [intakeHead]byte{} {
		return intakeHead, nil
	}
	head := int64(binary.LittleEndian.Uint64(b[:]))
	right := binary.LittleEndian.Uint32(b[8:]) == headSum(b[:8]) && head >= intakeHead
	switch {
	case !right:
		head = intakeHead
	case head > in.size:
		head = max(in.size, intakeHead)
	default:
		return head, nil
	}
	return head, in.mark(head)
}

func headSum(b []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE([]byte("hotcell intake 1")), crc32.IEEETable, b)
}

// mark writes up to where all was taken over.
func (in *intake) mark(head int64) error {
	var b [intakeHead]byte
	binary.LittleEndian.PutUint64(b[:], uint64(head))
	binary.LittleEndian.PutUint32(b[8:], headSum(b[:8]))
	_, err := in.f.WriteAt(b[:], 0)
	if err == nil {
		in.head, in.size = head, max(in.size, intakeHead)
	}
	return err
}
