package docker

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
	"github.com/hotcell/hotcell/sandbox"
)

// The kinds of things that this driver makes, values of [sandbox.LabelKind].
const (
	kindCell   = "cell"
	kindFill   = "fill"
	kindVolume = "volume"
)

// The driver's own label keys.
const (
	// labelName repeats a container's name. Images add their labels to containers, so a label alone proves nothing; no
	// image knows the name.
	labelName = "hotcell.name"
	// labelLock is on a volume, and on the container that fills it, the id of the lock.
	labelLock = "hotcell.lock"
)

// labels returns the labels of a new thing: the caller's, then the driver's own. Keys of hotcell's that nobody sets are
// set to nothing, for an image could bring them along.
func (d *Driver) labels(kind, name string, extra map[string]string) map[string]string {
	l := make(map[string]string)
	for _, key := range []string{
		sandbox.LabelHost, sandbox.LabelCall, sandbox.LabelSkill, sandbox.LabelExpires, sandbox.LabelDigest, labelLock,
	} {
		l[key] = ""
	}
	maps.Copy(l, extra)
	l[sandbox.LabelManaged] = "1"
	l[sandbox.LabelInstance] = d.instance
	l[sandbox.LabelKind] = kind
	l[labelName] = name
	return l
}

// List returns the containers and volumes with hotcell's labels, and the control groups that have no container, of every
// instance.
func (d *Driver) List(ctx context.Context) ([]sandbox.Listed, error) {
	groups := d.groups.List() // before the containers, so that one whose container is being made is not taken for a leftover
	containers, err := d.listContainers(ctx)
	if err != nil {
		return nil, err
	}
	volumes, err := d.listVolumes(ctx)
	if err != nil {
		return nil, err
	}
	var out []sandbox.Listed
	for _, c := range containers {
		out = append(out, sandbox.Listed{
			ID: c.ID, Kind: c.Labels[sandbox.LabelKind], Name: c.Labels[labelName], State: string(c.State),
			Labels: set(c.Labels), Created: time.Unix(c.Created, 0),
		})
	}
	for _, v := range volumes {
		created, _ := time.Parse(time.RFC3339, v.CreatedAt) // engines may leave it out; the zero time is the oldest
		out = append(out, sandbox.Listed{
			ID: v.Name, Kind: kindVolume, Name: v.Name, Tree: treeOf(v.Name), Labels: set(v.Labels), Created: created,
		})
	}
	return append(out, abandoned(groups, out)...), nil
}

// set leaves out labels without a value.
func set(labels map[string]string) map[string]string {
	l := maps.Clone(labels)
	maps.DeleteFunc(l, func(_, value string) bool { return value == "" })
	return l
}

// listContainers returns our containers, those that match all the KEY=VALUE labels. It never inspects: a container that
// is stuck blocks its own inspection, but not the list.
func (d *Driver) listContainers(ctx context.Context, labels ...string) ([]container.Summary, error) {
	args := filters.NewArgs(filters.Arg("label", sandbox.LabelManaged+"=1"))
	for _, l := range labels {
		args.Add("label", l)
	}
	return d.findContainers(ctx, args)
}

func (d *Driver) findContainers(ctx context.Context, args filters.Args) ([]container.Summary, error) {
	if _, err := d.learn(ctx, 0); err != nil { // by the first answer the client has settled on an API version, which a list reads unguarded
		return nil, err
	}
	op, cancel := context.WithTimeout(ctx, d.limits.List)
	defer cancel()
	all, err := d.containers.ContainerList(op, container.ListOptions{All: true, Filters: args})
	if err != nil {
		return nil, d.explain(ctx, "list containers", err)
	}
	ours := all[:0]
	for _, c := range all {
		kind := c.Labels[sandbox.LabelKind]
		if (kind == kindCell || kind == kindFill) && hasName(c.Names, c.Labels[labelName]) {
			ours = append(ours, c)
		}
	}
	return ours, nil
}

func hasName(names []string, name string) bool {
	for _, n := range names {
		if name != "" && strings.TrimPrefix(n, "/") == name {
			return true
		}
	}
	return false
}

// listVolumes returns our volumes, those that match all the KEY=VALUE labels.
func (d *Driver) listVolumes(ctx context.Context, labels ...string) ([]*volume.Volume, error) {
	args := filters.NewArgs(filters.Arg("label", sandbox.LabelManaged+"=1"), filters.Arg("label", sandbox.LabelKind+"="+kindVolume))
	for _, l := range labels {
		args.Add("label", l)
	}
	op, cancel := context.WithTimeout(ctx, d.limits.List)
	defer cancel()
	found, err := d.volumes.VolumeList(op, volume.ListOptions{Filters: args})
	if err != nil {
		return nil, d.explain(ctx, "list volumes", err)
	}
	return found.Volumes, nil
}
