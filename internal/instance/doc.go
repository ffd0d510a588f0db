// Package instance knows the supervisors that share a data folder: which of them live, which are dead, and what the dead
// left that would not die.
//
// Each supervisor keeps one small file in a common folder and holds a lock on it for as long as its process lives. The
// kernel gives the lock back however the process ends, so a file without a lock is that of a dead supervisor, and no
// process id, clock or heartbeat has to be believed. A clean exit removes the file. The folder must be on a file system
// where flock(2) works between all who share it; one where it means nothing is refused. A file knows its own inode, so that a
// copy of it, in a folder that was restored, takes nobody for dead.
//
// Where supervisors share a database and no folder, a [Member] has a lease there, too: who does not beat is declared dead by
// another, by the database's clock, and has to go.
//
// The package knows nothing of cells but their names. What the files and their folder hold is not trusted: links, special
// files, huge files and garbage are passed over.
package instance
