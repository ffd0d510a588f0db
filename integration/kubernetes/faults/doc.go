// Package faults tests what becomes of calls when a real cluster fails beneath them: each has its true reason, none hangs, the next
// one works, and nothing is left.
//
// Some of these tests stop programs of the cluster, cordon and taint its nodes: nothing else may use it meanwhile. They are run with
// the command that HOTCELL_KUBE_FAULT names, and skipped without one.
package faults
