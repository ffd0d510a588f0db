// Package install keeps the bundles that operators upload: it checks archives, unpacks them, keeps the last versions of each
// skill and puts one of them where the library of skills looks.
//
// Its folder is a source of skills. Each sub-folder is the current version of a skill; the rest is in folders whose names
// begin with a dot, which no library looks at:
//
//	NAME/                     what is current, exchanged as a whole by one rename
//	.versions/NAME/vN.tar.gz  each version, as it was unpacked
//	.versions/NAME/index.json which versions there are; it is replaced by one rename, and is what counts
//	.staging/ID/              an upload on its way, locked by the process that works on it
//	.lock                     one process at a time changes what is there
//
// A change is written into the index before it is carried out, so that whoever comes next can carry it out where a process
// died in between. What was uploaded is hostile: nothing of it is unpacked before all of it was checked, and nothing is put in
// its place before the skill was found to be one.
package install
