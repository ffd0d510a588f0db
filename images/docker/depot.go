package docker

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/hotcell/hotcell/images"
)

var _ images.Depot = (*Store)(nil)

// Forget makes the next caller who asks for ref ask the engine.
func (s *Store) Forget(ref string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.answers, ref)
}

// Stock returns the engine's images, and how many containers there are of each.
func (s *Store) Stock(ctx context.Context) (map[string]images.Stocked, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Inspect)
	defer cancel()
	all, err := s.engine.ImageList(ctx, image.ListOptions{All: true})
	if err != nil {
		return nil, s.explain(ctx, "list images", err)
	}
	boxes, err := s.engine.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, s.explain(ctx, "list containers", err)
	}
	users := map[string]int{}
	for _, box := range boxes {
		users[box.ImageID]++
	}
	stock := make(map[string]images.Stocked, len(all))
	for _, one := range all {
		stock[one.ID] = images.Stocked{
			Names: named(one.RepoTags), Digests: named(one.RepoDigests), Users: users[one.ID], Size: one.Size,
		}
	}
	return stock, nil
}

// named drops what engines write where there is no name.
func named(all []string) []string {
	var names []string
	for _, name := range all {
		if name != "<none>:<none>" && name != "<none>@<none>" {
			names = append(names, name)
		}
	}
	return names
}

// Discard removes an image that no container was made from. The engine itself sees to that.
func (s *Store) Discard(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	_, err := s.engine.ImageRemove(ctx, id, image.RemoveOptions{PruneChildren: true})
	s.mu.Lock()
	clear(s.answers) // by whatever name it was known
	s.mu.Unlock()
	switch {
	case err == nil, errdefs.IsNotFound(err):
		return nil
	case errdefs.IsConflict(err):
		return fmt.Errorf("%w: %s", images.ErrInUse, line(err.Error()))
	}
	return s.explain(ctx, "remove image "+id, err)
}
