// Command bench compares, in one interleaved run, what a call costs through hotcell with what the same work costs without
// it: on the raw Engine API, through the docker command, with runc alone, and through plain pipes. It also measures what
// must stay small or flat: the relay's pace, the supervisor's memory, the cost of history and of many skills, the doors.
//
// Usage, after make build and make image:
//
//	go run ./integration/bench [-n ROUNDS] [-only REGEXP] [-short] [-runner FILE]
//	go run ./integration/bench -kube [-n ROUNDS] [-only REGEXP] [-runner FILE]
//	go run ./integration/bench -from FILE [-svg FILE] [-doc FILE]
//
// With -kube it measures cells in the cluster of KUBECONFIG beside raw pods, and nothing else; HOTCELL_KUBE_LOAD is a command that gives
// the cluster's nodes an image archive.
//
// BENCH_JSON, BENCH_SVG and BENCH_DOC name files for the figures, for a plot of them, and a page whose tables are replaced.
// A row that cannot be measured on this machine is absent, and the run says why. A contender that fails is left out of the
// rest, and the run fails at its end.
package main
