package cgroup

// signs are what can be seen of the memory kills around a cell, on either version of cgroups.
type signs struct {
	AtLimit bool  // the group's own limit was reached
	Rang    bool  // v1: the kernel announced that memory ran out, in the group or above it, and nobody saw what came of it
	Kills   int64 // processes of the cell that were killed for memory, as far as they were seen
	Sure    bool  // Kills is complete: zero means none
	Killed  bool  // the cell's first process died of SIGKILL
}

// verdict says whether the cell's own limit killed one of its processes, or memory that ran out above it did.
//
// Counters of different levels are never subtracted from each other: many groups can run out of memory at once, and the
// kernel may ring for one of them while another is killing.
func (s signs) verdict() (oomKilled, pressure bool) {
	switch {
	case s.Kills > 0:
		return s.AtLimit, !s.AtLimit
	case s.Sure:
		return false, false
	case s.Rang && s.AtLimit:
		return true, false
	case s.Rang && s.Killed: // not at its own limit: only a level above can have rung
		return false, true
	}
	return false, false
}
