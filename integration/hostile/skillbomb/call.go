package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// setLimit is setrlimit by its own number, past the Go runtime's idea of it.
func setLimit(resource int, limit *unix.Rlimit) error {
	return call(unix.SYS_PRLIMIT64, 0, uintptr(resource), pointer(limit), 0)
}

// call makes a system call and returns its error.
func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// pinned keeps what the kernel is given the address of.
var pinned []any

// pointer is the address of a value, which stays where it is.
func pointer[T any](v *T) uintptr {
	pinned = append(pinned, v)
	return uintptr(unsafe.Pointer(v))
}

// text is the address of a C string.
func text(s string) uintptr {
	b, err := unix.BytePtrFromString(s)
	must(err)
	return pointer(b)
}

// callWith is [call] with a pointer in third place, which need not stay where it is.
func callWith[T any](number, a, b uintptr, v *T) error {
	if _, _, errno := unix.Syscall(number, a, b, uintptr(unsafe.Pointer(v))); errno != 0 {
		return errno
	}
	return nil
}
