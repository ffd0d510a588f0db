// Command bench compares, in one interleaved run, what a call costs through hotcell with what the same work costs on the
// raw Engine API and through the docker command. Every contender runs the same Python program in the same image, with the
// engine's networking left out, and is measured to its first output and to its end.
//
// usage: go run ./integration/bench [-n ROUNDS] [-runner FILE], after make build and make image. BENCH_JSON names a file
// for the figures.
package main
