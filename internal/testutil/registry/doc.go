// Package registry is an image registry on loopback for tests, with a hand in between that makes it fail: it hangs, lies, wants
// a login, or answers for somebody else.
package registry
