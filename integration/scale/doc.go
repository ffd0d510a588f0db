// Package scale says how far hotcell goes, by a simulation: real supervisors, each with its real admission and its real pool
// of waiting cells, over a cluster and a database that are modelled. All of it lives in virtual time (testing/synctest), so
// that a minute of a thousand nodes takes no longer than its work.
//
// What is real: [executor.Supervisor] with executor/admission and executor/relay, [warm.Driver], and cells of [fake.Driver]
// that speak as a runner does. What is modelled, with figures that were measured or that are an installation's defaults
// ([Costs]): nodes with room for so many cells and kubelets that start a few at a time, a scheduler that places one pod after
// the other, clients of an API that hold their own rate, one database with one writer at a time, and the processors of each
// supervisor.
//
// TestScale* check what must hold at any size; make scale runs the sizes of docs/scale.md and writes its tables.
package scale
