// Package doctor says what a host and its engine can enforce, and what is left over on them.
//
// It works in two steps. [Gather] asks: the engine, this host's files, the image store, the supervisors of the data
// folder, and one cell that looks at itself. Each question is bounded in time, and what is not answered is kept as such.
// [Examine] judges the [Facts] alone; it is pure, so each kind of host is a row of a table with a golden file.
//
// Where cells are pods, [GatherCluster] asks in its place: the cluster, and three cells, of which one looks at itself and two try
// what they reach.
//
// What engines, clusters, cells and files say is hostile: it gets into a [Check] only as clean text of bounded length. A control
// counts as enforced when the cell showed it, or where a cell can't show it when the engine claims it; what could not be
// looked at is never called good.
//
// The package knows no engine's API, starts nothing itself and changes nothing: who wires it brings the ways to ask.
package doctor
