package a2e

import (
	"encoding/base64"
	"fmt"
)

// Piece is what an event of kind artifact carries: a part of a file that a skill made, under its name.
type Piece struct {
	Name, Mime string
	Content    []byte
	Final      bool // the file ends with it
}

// PieceOf reads the piece of an event, which is to be of kind artifact. Where the content is no base64 the rest of it is there
// beside the error.
func PieceOf(ev *Event) (Piece, error) {
	var p Piece
	p.Name, _ = ev.Data["name"].(string)
	p.Mime, _ = ev.Data["mime"].(string)
	p.Final, _ = ev.Data["final"].(bool)
	text, _ := ev.Data["chunk"].(string)
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return p, fmt.Errorf("chunk: expected base64: %w", err)
	}
	p.Content = content
	return p, nil
}
