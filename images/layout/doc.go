// Package layout is an [images.Store] with no engine and no registry: images come as archives, from `docker save` or in the
// layout of OCI, and are unpacked once, by content id, into file trees that a driver runs from.
//
// An archive is hostile. Nothing that it names is written outside of its own tree; its size and number of files are
// bounded; devices and the bits that raise privileges are left out; every layer must have the digest that the image's
// configuration gives it, and the configuration that of the image's id. A tree appears under its id only when it is
// complete.
//
// The folder holds:
//
//	lock          held while the folder is changed
//	index.json    which reference is which image
//	meta/ID.json  the image's configuration
//	rootfs/ID     its tree
//	tmp/          what is being made
package layout
