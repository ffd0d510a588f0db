// Package oci is the [sandbox.Driver] that has no engine: it writes a runtime-spec bundle for each cell and has runc, crun
// or runsc make a process of it.
//
// A cell's root is the tree of an image, shared by all cells of that image and never written to; its streams are pipes; it
// is waited for and killed by pidfd. Around it is a control group of our own, and nothing runs in it before its limits
// were read back from the kernel.
//
// The first process of a cell is a child of this one: New makes this process the reaper of its descendants, since a
// runtime leaves as soon as the cell is made. A cell outlives a supervisor that dies only until it sees the end of its
// stdin; what is left of it is listed from the run folder, by any supervisor.
//
// In the run folder, which is gone after a boot: INSTANCE/CELL/, the cell's bundle, its labels (cell.json), its process
// (pid) and what the runtime keeps (state). In the data folder: roots/KEY, an image's tree with the mount points that
// cells have in it, and trees/DIGEST, a file tree that cells mount.
package oci
