package skills

import "slices"

// order returns the skills in groups: what a group includes is in it, or in one before. A group of more than one is full
// of cycles.
func (c *composer) order() [][]int {
	c.group = make([]int, len(c.all))
	t := &tarjan{composer: c, index: make([]int, len(c.all)), low: make([]int, len(c.all)), on: make([]bool, len(c.all))}
	for i := range c.all {
		if t.index[i] == 0 {
			t.visit(i)
		}
	}
	return t.groups
}

// edges returns the skills that a skill includes, as far as they are there.
func (c *composer) edges(i int) []int {
	var out []int
	for _, name := range c.all[i].includes {
		if at, ok := c.byName[name]; ok {
			out = append(out, at)
		}
	}
	return out
}

// tarjan finds strongly connected components.
type tarjan struct {
	*composer
	next       int
	index, low []int
	on         []bool
	stack      []int
	groups     [][]int
}

func (t *tarjan) visit(i int) {
	t.next++
	t.index[i], t.low[i] = t.next, t.next
	t.stack, t.on[i] = append(t.stack, i), true
	for _, e := range t.edges(i) {
		switch {
		case t.index[e] == 0:
			t.visit(e)
			t.low[i] = min(t.low[i], t.low[e])
		case t.on[e]:
			t.low[i] = min(t.low[i], t.index[e])
		}
	}
	if t.low[i] != t.index[i] {
		return
	}
	from := slices.Index(t.stack, i)
	group := slices.Clone(t.stack[from:])
	t.stack = t.stack[:from]
	for _, g := range group {
		t.on[g], t.group[g] = false, len(t.groups)
	}
	slices.Sort(group)
	t.groups = append(t.groups, group)
}

// mostSteps bounds how far a cycle is followed to tell its names.
const mostSteps = 256

// cycle returns the names of a shortest way from a skill through its group back to itself, or nil.
func (c *composer) cycle(start int) []string {
	cameFrom := map[int]int{}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		if len(cameFrom) > mostSteps {
			return []string{c.all[start].skill.Name, "...", c.all[start].skill.Name}
		}
		for _, e := range c.edges(queue[0]) {
			if e == start {
				return c.way(start, queue[0], cameFrom)
			}
			if _, seen := cameFrom[e]; !seen && c.group[e] == c.group[start] {
				cameFrom[e] = queue[0]
				queue = append(queue, e)
			}
		}
	}
	return nil
}

// mostNames bounds how many names of a cycle are told.
const mostNames = 8

func (c *composer) way(start, last int, cameFrom map[int]int) []string {
	way := []string{c.all[start].skill.Name}
	for at := last; at != start; at = cameFrom[at] {
		way = append(way, c.all[at].skill.Name)
	}
	way = append(way, c.all[start].skill.Name)
	slices.Reverse(way)
	if len(way) > mostNames {
		way = append(append(way[:mostNames-2:mostNames-2], "..."), way[len(way)-1])
	}
	return way
}
