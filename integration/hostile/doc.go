// Package hostile is a corpus of attacks on cells, as tests: each is a row that says what it does, which control stops it,
// and the exact verdict that is true of it.
//
// The attacks live in skillbomb, a static program with a subcommand each; those where an interpreter matters have a twin
// in Python. An attack tries the thing for real and tells what came of each try, so that a control which no longer holds
// fails its row.
//
// Three variables of the environment turn the normal, short run into a long one. HOTCELL_SOAK_ROUNDS repeats each row that
// often, holds it to strict times and prints figures. HOTCELL_SOAK_ENDINGS is how many random endings TestEndings makes.
// HOTCELL_RUNTIME names the engine's runtime that the cells get; a row whose verdict differs there has a column for it.
//
// HOTCELL_DRIVER=oci has the cells made without an engine, and HOTCELL_DRIVER=kubernetes on a cluster. A row whose verdict in a pod is
// not docker's is listed with the reason, which docs/kubernetes.md repeats.
package hostile
