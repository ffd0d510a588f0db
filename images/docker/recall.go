package docker

import (
	"context"
	"time"

	"github.com/hotcell/hotcell/images"
)

const (
	recheck   = time.Second // an answer that is older is asked for again, behind the caller who gets it
	behind    = 50 * time.Millisecond
	maxRecall = 1000 // answers that are kept
)

// answer is an image that the engine had.
type answer struct {
	img    images.Image
	seen   time.Time // when the engine last said so
	asking bool
}

// recall returns what the engine said about ref, if that is not too long ago, and whether it is to be asked again. Calls then wait for
// no engine; an image that was replaced is seen with one of the next.
func (s *Store) recall(ref string, pull images.PullPolicy) (img images.Image, known, ask bool) {
	if s.remember <= 0 || pull == images.PullAlways && ref != images.Builtin {
		return images.Image{}, false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answers[ref]
	if a == nil {
		return images.Image{}, false, false
	}
	age := time.Since(a.seen)
	if age > s.remember {
		delete(s.answers, ref)
		return images.Image{}, false, false
	}
	ask = age > recheck && !a.asking
	a.asking = a.asking || ask
	return a.img, true, ask
}

// again begins to ask the engine again.
func (s *Store) again(ref string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(func() { s.check(ref) })
	}
}

// check asks the engine again. What it cannot say now is forgotten, so that the next caller hears why.
func (s *Store) check(ref string) {
	select {
	case <-time.After(behind): // the engine has something to do for that caller first
	case <-s.ctx.Done():
	}
	look := s.inspect
	if ref == images.Builtin {
		look = s.inspectBuiltin
	}
	img, err := look(s.ctx, ref)
	s.keep(ref, img, err)
}

// keep notes an answer.
func (s *Store) keep(ref string, img images.Image, err error) {
	if s.remember <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.answers, ref)
		return
	}
	if len(s.answers) >= maxRecall {
		clear(s.answers)
	}
	s.answers[ref] = &answer{img: img, seen: time.Now()}
}

// Resolve returns the pinned image behind ref, pulling it as the policy says. It fails with *[images.UnavailableError] for
// an image that is not to be had, which includes one for another platform than the engine's, and wraps
// [sandbox.ErrUnavailable] when no engine answers.
func (s *Store) Resolve(ctx context.Context, ref string, pull images.PullPolicy) (images.Image, error) {
	if img, known, ask := s.recall(ref, pull); known {
		if ask {
			images.Later(ctx, func() { s.again(ref) })
		}
		return img, nil
	}
	images.Waits(ctx)
	img, err := s.resolve(ctx, ref, pull)
	s.keep(ref, img, err)
	return img, err
}
