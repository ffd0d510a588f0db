// Command hotcell runs untrusted agent skills in sealed, single-use containers. It is the top floor: it reads the
// command line and the configuration, wires the parts together, and shows people what comes back.
//
// All that a skill says is hostile here as well: clean.go stands between it and a terminal, artifacts.go between its
// file names and this machine.
package main
