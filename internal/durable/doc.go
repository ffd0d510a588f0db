// Package durable gives files their names so that they keep them after a loss of power: a name that was changed is on the disk
// only once its folder is. It knows nothing of what is in the files, which must be on the disk before they get their names.
package durable
