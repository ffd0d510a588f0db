// Package cleanup is a stack of undo steps: what was done first is undone last. It keeps do and undo on neighbouring
// lines and makes teardown bounded, complete and repeatable.
package cleanup
