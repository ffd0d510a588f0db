package cgroup

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotcell/hotcell/sandbox"
)

// ListKind is the kind of a group among listed things, and ListPrefix starts its id; the group's path follows.
const (
	ListKind   = "cgroup"
	ListPrefix = "cgroup:"
)

// List returns the groups of all instances below the root, except those of this manager's own cells while they are in use. An instance's group
// is listed only when no cell's is in it. Groups of cells that live are among them: whoever lists knows which those are.
func (m *Manager) List() []sandbox.Listed {
	if m == nil || m.mounts.version == 0 || !rootPath.MatchString(m.root) {
		return nil
	}
	var found []sandbox.Listed
	for _, instance := range m.names(m.root) {
		cells := m.names(path.Join(m.root, instance))
		for _, cell := range cells {
			if !m.owns(instance, cell) {
				found = append(found, m.listed(instance, cell))
			}
		}
		if len(cells) == 0 && instance != m.instance {
			found = append(found, m.listed(instance, ""))
		}
	}
	return found
}

// names are the valid names of groups in a group, in any tree: an engine's runtime makes them in all.
func (m *Manager) names(group string) []string {
	var names []string
	for _, point := range m.mounts.all {
		for _, name := range subgroups(filepath.Join(point, group)) {
			if word.MatchString(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// owns reports whether a group is that of a cell of this manager's, which its owner has not given up.
func (m *Manager) owns(instance, cell string) bool {
	g := m.own(instance, cell)
	return g != nil && !g.givenUp()
}

// own returns the group of a cell of this manager's, nil where there is none.
func (m *Manager) own(instance, cell string) *Group {
	m.mu.Lock()
	defer m.mu.Unlock()
	if instance != m.instance {
		return nil
	}
	return m.live[cell]
}

func (m *Manager) listed(instance, cell string) sandbox.Listed {
	group := path.Join(m.root, instance, cell)
	l := sandbox.Listed{
		ID: ListPrefix + group, Kind: ListKind, Name: path.Base(group), State: "empty",
		Labels: map[string]string{sandbox.LabelInstance: instance},
	}
	populated := len(m.processes(group)) > 0
	for _, point := range m.mounts.all {
		if info, err := os.Stat(filepath.Join(point, group)); err == nil && later(info.ModTime(), l.Created) {
			l.Created = info.ModTime()
		}
	}
	if populated { // perhaps by another engine's container, which its owner knows
		l.State = "populated"
	} else {
		l.Labels[sandbox.LabelExpires] = strconv.FormatInt(l.Created.Add(emptyFor).Unix(), 10)
	}
	return l
}

// emptyFor is how long after its creation a group may wait for its first process before it is garbage, unless its owner is
// known to live: much longer than any call has.
const emptyFor = time.Hour

func later(t, than time.Time) bool { return than.IsZero() || t.After(than) }

// Drop removes a cell's group that List showed by its id, whoever made it, and kills what is in it; also the instance's group
// if that is empty then. An instance's group goes only if it is empty: its owner may be making a cell in it meanwhile. What is
// not there is removed.
func (m *Manager) Drop(id string) error {
	instance, cell, ok := m.split(strings.TrimPrefix(id, ListPrefix))
	switch {
	case !ok:
		return fmt.Errorf("group %q: expected %s%s/<instance>/<cell>", id, ListPrefix, m.root)
	case m.mounts.version == 0:
		return nil
	case m.owns(instance, cell) || cell == "" && instance == m.instance:
		return fmt.Errorf("group %q: a cell of this supervisor uses it", id)
	}
	if g := m.own(instance, cell); g != nil { // its removal did not work before
		return g.Remove()
	}
	if cell != "" {
		if err := m.destroy(path.Join(m.root, instance, cell)); err != nil {
			return err
		}
	}
	level := path.Join(m.root, instance)
	m.mu.Lock()
	defer m.mu.Unlock()
	if instance != m.instance || len(m.live) == 0 {
		m.clear(level)
	}
	if cell == "" && len(m.names(level)) > 0 {
		return fmt.Errorf("group %s is in use again", level)
	}
	return nil
}

// Release removes the group of a cell whose container is gone, whoever made it. A cell that has none is fine.
func (m *Manager) Release(instance, cell string) error {
	if m == nil || m.mounts.version == 0 || !word.MatchString(instance) || !word.MatchString(cell) {
		return nil
	}
	if g := m.own(instance, cell); g != nil {
		return g.Remove()
	}
	return m.Drop(ListPrefix + path.Join(m.root, instance, cell))
}

// split takes a path apart: <root>/<instance>, or <root>/<instance>/<cell>.
func (m *Manager) split(group string) (instance, cell string, ok bool) {
	rest, ok := strings.CutPrefix(group, m.root+"/")
	if !ok {
		return "", "", false
	}
	instance, cell, deep := strings.Cut(rest, "/")
	return instance, cell, word.MatchString(instance) && (!deep || word.MatchString(cell))
}
