package layout

import (
	"bytes"
	"context"
	"errors"
	"runtime"

	"github.com/hotcell/hotcell/images"
)

// builtin returns [images.Builtin], which is made where it is not there. What somebody imported under its name is replaced.
func (s *Store) builtin(ctx context.Context) (images.Image, error) {
	if img, ok, err := s.hasBuiltin(); ok || err != nil {
		return img, err
	}
	s.making.Lock()
	defer s.making.Unlock()
	if img, ok, err := s.hasBuiltin(); ok || err != nil {
		return img, err
	}
	made, err := s.Import(ctx, bytes.NewReader(images.BuiltinArchive(runtime.GOARCH)), "")
	if err != nil {
		return images.Image{}, err
	}
	return made[0], nil
}

func (s *Store) hasBuiltin() (images.Image, bool, error) {
	img, err := s.remembered(images.Builtin)
	if errors.Is(err, errMissing) {
		return images.Image{}, false, nil
	}
	return img, err == nil && img.ID == images.BuiltinID(runtime.GOARCH), err
}
