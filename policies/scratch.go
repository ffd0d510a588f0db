package policies

// page is what a tmpfs hands out; sizes that are worked out here are whole pages.
const page = 4 * Ki

// fitScratch cuts workspace and out to the memory that is held. A size in stated was asked for by somebody; one that is
// zero there takes what the other leaves.
func (n *narrowing) fitScratch(stated Limits) {
	memory := n.held[fieldMemory]
	was := Limits{Workspace: Bytes(n.held[fieldWorkspace].value), Out: Bytes(n.held[fieldOut].value)}
	workspace, out := fit(Bytes(memory.value), was, stated)
	n.shrink(workspaceField(), workspace)
	n.shrink(outField(), out)
}

// shrink lowers a size to what fits. The wishes that are above it are reported as cut by the memory; a skill's only as long
// as the call has not made it smaller.
func (n *narrowing) shrink(f field, size Bytes) {
	held := n.held[f.name]
	if int64(size) >= held.value {
		return
	}
	if wish := *f.of(&n.skill); wish > int64(size) && held.by != Caller {
		n.clamp(Clamp{f.name, Memory, Skill, f.format(wish), f.format(int64(size))})
	}
	if wish := *f.of(&n.call); wish > int64(size) {
		n.clamp(Clamp{f.name, Memory, Caller, f.format(wish), f.format(int64(size))})
	}
	n.held[f.name] = holding{int64(size), Memory}
}

// fit returns the sizes of workspace and out, neither more than is held, that fit into the memory together. Sizes that
// nobody stated shrink first: to their share of the memory, then to what the stated one leaves, never below their floor.
func fit(memory Bytes, held, stated Limits) (workspace, out Bytes) {
	workspace, out = held.Workspace, held.Out
	if stated.Workspace == 0 {
		workspace = min(workspace, wholePages(memory/4))
	}
	if stated.Out == 0 {
		out = min(out, wholePages(memory/8))
	}
	room := wholePages(ScratchSize(memory))
	switch {
	case workspace+out <= room:
	case stated.Out == 0:
		workspace = min(workspace, room-MinOut)
		out = room - workspace
	case stated.Workspace == 0:
		out = min(out, room-MinWorkspace)
		workspace = room - out
	default:
		workspace, out = share(room, workspace, out)
	}
	return workspace, out
}

// share divides room between two sizes that are more than it together: the smaller one is kept if it is within its half.
func share(room, a, b Bytes) (Bytes, Bytes) {
	half := wholePages(room / 2)
	switch {
	case a <= half:
		return a, room - a
	case b <= half:
		return room - b, b
	}
	return half, half
}

func wholePages(n Bytes) Bytes { return n / page * page }
