// Package fileset is a read-only file system made of named files, wherever their content is: in memory, in an archive, on this
// host. It knows nothing of what the files are for.
package fileset
