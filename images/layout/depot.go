package layout

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/hotcell/hotcell/images"
)

var _ images.Depot = (*Store)(nil)

// Stock returns the images that are there. Cells run from copies: none has an image itself in use.
func (s *Store) Stock(ctx context.Context) (map[string]images.Stocked, error) {
	index, err := s.readIndex()
	if err != nil {
		return nil, err
	}
	stock := map[string]images.Stocked{}
	for _, key := range slices.Sorted(maps.Keys(index.Refs)) {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		id := index.Refs[key]
		one, seen := stock[id]
		if !seen {
			img, err := s.image(id)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			one.Size = img.Size
		}
		if isDigest(key) {
			one.Digests = append(one.Digests, shortRef(key))
		} else {
			one.Names = append(one.Names, shortRef(key))
		}
		stock[id] = one
	}
	return stock, nil
}

// Discard removes an image, whatever its names are.
func (s *Store) Discard(ctx context.Context, id string) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	index, err := s.readIndex()
	if err != nil {
		return err
	}
	maps.DeleteFunc(index.Refs, func(_, named string) bool { return named == id })
	index.prune()
	return errors.Join(s.writeIndex(index), s.collect())
}
