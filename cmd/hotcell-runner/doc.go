// Command hotcell-runner is the first process in a cell:
//
//	hotcell-runner [-output=BYTES] [-out=BYTES] -- COMMAND [ARG...]
//
// It speaks the wall on stdin and stdout. See package internal/runner.
package main
