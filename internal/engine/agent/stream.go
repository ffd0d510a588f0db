package agent

import (
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/engine"
)

const (
	maxStreamed = 1 << 20                // bytes of a model's text that become events while it speaks, in one run
	pieceBytes  = 512                    // a piece that is as long goes out at once
	pieceAge    = 200 * time.Millisecond // and any when the last one was so long ago
)

// stream tells what the model says while it says it, in pieces of bearable size.
type stream struct {
	voice *engine.Voice
	now   func() time.Time
	left  int // bytes that may still be told
	turn  int
	last  time.Time
	piece strings.Builder
}

func (s *stream) begin(turn int) {
	s.turn, s.last = turn, time.Time{}
	s.piece.Reset()
}

func (s *stream) add(text string) {
	s.piece.WriteString(text)
	if s.piece.Len() >= pieceBytes || s.now().Sub(s.last) >= pieceAge {
		s.flush()
	}
}

func (s *stream) flush() {
	text := s.piece.String()
	s.piece.Reset()
	if text == "" || s.left <= 0 {
		return
	}
	s.last = s.now()
	s.left -= len(text)
	s.voice.Status(engine.OneLine(text, pieceBytes), map[string]any{"turn": s.turn, "delta": engine.Clip(text, engine.MaxText)})
}
