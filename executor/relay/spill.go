package relay

import (
	"io"
	"os"
)

// spill is a queue of blocks in a file that has no name, so that nothing is left of it when the process ends, however it
// ends. It is not safe for concurrent use.
type spill struct {
	f      *os.File
	blocks []int // sizes of those that are there, oldest first
	r, w   int64 // where the oldest begins and the newest ends
	broken bool  // no file can be made, or it takes no more
}

func (s *spill) empty() bool { return len(s.blocks) == 0 }

// write appends a block, and reports false when it could not. Then it takes no more: what it holds comes before what
// others keep.
func (s *spill) write(block []byte) bool {
	if s.broken {
		return false
	}
	if s.f == nil {
		s.f = nameless()
	}
	if s.f == nil {
		s.broken = true
		return false
	}
	if _, err := s.f.WriteAt(block, s.w); err != nil {
		s.broken = true
		return false
	}
	s.blocks = append(s.blocks, len(block))
	s.w += int64(len(block))
	return true
}

// read takes the oldest block. The file shrinks to nothing once all have been read.
func (s *spill) read() ([]byte, error) {
	block := make([]byte, s.blocks[0])
	s.blocks = s.blocks[1:]
	_, err := io.ReadFull(io.NewSectionReader(s.f, s.r, int64(len(block))), block)
	s.r += int64(len(block))
	if s.empty() {
		s.blocks, s.r, s.w = nil, 0, 0
		_ = s.f.Truncate(0)
	}
	return block, err
}

// close gives the disk space back.
func (s *spill) close() {
	if s.f != nil {
		_ = s.f.Close()
	}
	*s = spill{broken: true}
}

// nameless makes a file in the folder for temporary files and takes its name away; nil when it cannot.
func nameless() *os.File {
	f, err := os.CreateTemp("", "hotcell-events-*")
	if err != nil {
		return nil
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil
	}
	return f
}
