package docker

import (
	"cmp"
	"context"
	"slices"

	"github.com/docker/docker/api/types/image"
	"github.com/hotcell/hotcell/images"
)

// maxTried bounds how many images are looked at for one that fits the engine.
const maxTried = 20

// Smallest returns the smallest tagged image of the engine that fits its platform, and the zero image where it has none.
func (s *Store) Smallest(ctx context.Context) (images.Image, error) {
	op, cancel := context.WithTimeout(ctx, s.limits.Inspect)
	defer cancel()
	all, err := s.engine.ImageList(op, image.ListOptions{})
	if err != nil {
		return images.Image{}, s.explain(ctx, "list images", err)
	}
	slices.SortFunc(all, func(a, b image.Summary) int { return cmp.Compare(a.Size, b.Size) })
	tried := 0
	for _, found := range all {
		if len(found.RepoTags) == 0 || tried == maxTried {
			continue
		}
		tried++
		if img, err := s.inspect(ctx, found.ID); err == nil {
			img.Ref = found.RepoTags[0]
			return img, nil
		}
	}
	return images.Image{}, nil
}
