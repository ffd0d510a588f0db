package console

import "github.com/hotcell/hotcell/internal/a2e"

// clusterWhys are the texts for what clusters do with cells.
func clusterWhys() []why {
	c := a2e.SandboxCrash
	return []why{
		{code: c, reason: a2e.ReasonNodeLost, tell: nodeLost},
		{code: c, reason: a2e.ReasonEvicted, tell: evicted},
		{code: c, reason: a2e.ReasonPreempted, tell: preempted},
		{code: c, reason: a2e.ReasonCellDeleted, tell: podDeleted},
		{code: c, reason: a2e.ReasonUnschedulable, tell: unschedulable},
		{code: c, reason: a2e.ReasonClusterQuota, tell: namespaceFull},
		{code: a2e.SkillError, reason: a2e.ReasonOutputLimit, has: "of its host's disk", tell: tooMuchDisk},
	}
}

// twice is the advice about another try of a call that ran for a while.
const twice = "It can be sent again. If the skill changes things elsewhere, check first how far it got."

func nodeLost(*cause) explanation {
	return explanation{
		Title: "The node on which the cell ran does not answer, or is gone.",
		What: []string{
			"This is about the cluster and not about the skill: the node's kubelet, its network or the machine itself failed. The error message names the node.",
			"What the skill did there after that is not known.",
		},
		Change: []advice{
			{Do: "An operator of the cluster has to look at the node.", File: "shell", Text: "kubectl get nodes\nkubectl describe node NAME"},
		},
		Again: twice,
	}
}

func evicted(*cause) explanation {
	return explanation{
		Title: "The cluster took the cell off its node.",
		What:  []string{"The node was drained or tainted, or was short of memory or disk. The error message has the cluster's own words. The skill did nothing wrong."},
		Change: []advice{
			{Do: "If nodes are drained for maintenance, nothing has to be changed. If nodes run short, an operator can give them more room, or let fewer cells run at once.", File: "hotcell.yaml", Text: "sandbox:\n  max_cells: 4"},
		},
		Again: twice,
	}
}

func preempted(*cause) explanation {
	return explanation{
		Title: "Something more important took the cell's place in the cluster.",
		What:  []string{"The cluster was full, and a pod with a higher priority needed room. The skill did nothing wrong."},
		Change: []advice{
			{Do: "An operator of the cluster can add nodes, or keep the namespace of cells apart from what has a higher priority.", File: "shell", Text: "kubectl get priorityclasses\nkubectl describe nodes"},
		},
		Again: twice,
	}
}

func podDeleted(*cause) explanation {
	return explanation{
		Title: "Somebody deleted the cell's pod while the call ran.",
		What:  []string{"Neither hotcell nor the skill did: a person, or a program that tidies up the cluster."},
		Change: []advice{
			{Do: "Nothing has to be changed in the skill. The cluster's audit log says who it was. Only hotcell should delete in the namespace of cells.", File: "shell", Text: "kubectl auth can-i --list --namespace NAMESPACE"},
		},
		Again: twice,
	}
}

func unschedulable(*cause) explanation {
	return explanation{
		Title: "No node of the cluster took the cell.",
		What: []string{
			"Nothing of the skill ran. A cell needs a node that is ready, is not cordoned, and has all of the cell's memory and processors left. The error message has the scheduler's own words.",
		},
		Change: []advice{
			{Do: "An operator can add nodes, uncordon one, or let fewer cells run at once.", File: "shell", Text: "kubectl get nodes\nkubectl describe nodes"},
			{Do: "Or let the skill ask for less.", File: "skill.yaml", Text: "limits:\n  memory: 256Mi\n  cpu: 500m"},
		},
		Again: "It works as soon as a node has room.",
	}
}

func namespaceFull(*cause) explanation {
	return explanation{
		Title: "The namespace of cells is full: a quota of the cluster is used up.",
		What:  []string{"Nothing of the skill ran. The error message says which quota it is, what is used and what there is."},
		Change: []advice{
			{Do: "Let fewer cells run at once than the quota has room for.", File: "hotcell.yaml", Text: "sandbox:\n  max_cells: 4"},
			{Do: "Or an operator of the cluster raises the quota.", File: "shell", Text: "kubectl describe resourcequota --namespace NAMESPACE"},
		},
		Again: "It may work when other cells have ended.",
	}
}

func tooMuchDisk(*cause) explanation {
	return explanation{
		Title: "The skill used more of its host's disk than it may.",
		What:  []string{"The folders of a cell live in memory. What goes to the host's disk is a copy of what it says, and there was more of that than a cell may leave."},
		Change: []advice{
			{Do: "Let the skill say less: a loop that prints without end is the usual reason. Large data belongs into a file in /out."},
		},
		Again: "The same request would fill it again: let the skill say less first.",
	}
}
