// Package docker is the sandbox driver over the Docker Engine API, for any engine that speaks API 1.41 (20.10) or newer,
// local or remote: nothing of a cell is a host path.
//
// [Driver] makes a container for each [sandbox.Spec]. convert.go says what a spec becomes, one function for each control,
// and refuses what it does not know. A container is attached and waited for before it starts, so that no output and no
// exit is lost; demux.go takes its streams apart. Trees travel as named volumes that are filled once for each digest.
//
// Words: a cell is a container; a fill is a container that never starts and through which a volume gets its content; the
// lock is the fill whose existence marks a volume as unfinished.
//
// The package knows nothing of calls, skills or policies. The engine's client stays in here, behind small interfaces.
package docker
