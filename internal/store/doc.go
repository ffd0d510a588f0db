// Package store is the journal on disk: one SQLite file that holds every call from its acceptance to its one answer, and
// its events for a while; the tokens of those who may call; and what principals own, such as their custom skills.
//
// Instead of a file it may be a schema of a Postgres database. The SQL is the same; [engine] has what is not.
//
// Several supervisors may have the same file or schema open, of which one writes at a time. All writing of one process goes through one goroutine, which puts what
// waits into one transaction: what a caller waits for first, and of events as many as fit. A call's acceptance and its
// answer are committed before those who asked go on; events may be dropped under load and are counted then.
//
// The package knows records and bytes. What a call is, and when a supervisor counts as dead, is the executor's business.
package store
