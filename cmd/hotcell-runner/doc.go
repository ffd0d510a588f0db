// Command hotcell-runner is the first process in a cell:
//
//	hotcell-runner [-output=BYTES] [-out=BYTES] -- COMMAND [ARG...]
//
// It speaks the wall on stdin and stdout. With -probe alone it prints how a process in the cell is confined, which
// hotcell doctor asks for; with -listen and -reach it tries the network of a cluster's pods. See package internal/runner.
package main
