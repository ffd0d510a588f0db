// Command skillbomb attacks the cell that it runs in. Each subcommand tries one kind of thing and prints what came of it, as the
// result of a skill. It never does anything outside of a cell: it refuses to run where it is not in one.
package main
