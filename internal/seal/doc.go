// Package seal is what a cell and its supervisor say to each other where strangers keep a copy of a cell's output: a
// kubelet writes it to its node's disk.
//
// The supervisor speaks first: a [Hello] on one line, with a key that is that cell's alone, then frames of bytes ([Frame]).
// The cell answers in lines, each sealed with AES-256-GCM under the key and a counter ([Sealer], [Opener]): who reads the
// copy sees how much was said and when, and who changes, drops or repeats a line ends the conversation.
//
// The package knows neither cells nor Kubernetes, and imports the standard library alone: it is in every cell's first
// program.
package seal
