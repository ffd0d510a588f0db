// Package cgroup puts a control group of hotcell's own around each cell, /hotcell/<instance>/<cell>, and reads in it how
// the cell lived and died.
//
// The group outlives the container that an engine makes inside it, so that what the kernel counted can still be read
// when the engine has cleaned up: whether a process was killed for memory, at whose limit, and what was used. The group's
// memory limit is the call's; the container gets a little more, so that the group's own limit is the one that binds.
// Above all cells the root group keeps the skills of every supervisor together below the host's size.
//
// The two versions of cgroups tell a kill differently. On v2 the group's memory.events counts the kills anywhere below
// it. On v1 nothing is counted upwards: the victim's own group, which the engine removes, counts the kill; the group
// around it rings an eventfd when its limit, or one above, was hit, and keeps the highest usage it has seen. [signs] is
// where these become a verdict.
//
// The package knows sandbox's words for evidence, and no engine. Whether an engine really puts its containers where it
// was told shows after the first start; a [Manager] that finds otherwise switches itself off and says why.
package cgroup
