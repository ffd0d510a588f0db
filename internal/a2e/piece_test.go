package a2e_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/a2e"
)

func TestPieces(t *testing.T) {
	for _, tt := range []struct {
		data map[string]any
		want a2e.Piece
		good bool
	}{
		{map[string]any{"name": "n", "mime": "m", "chunk": "aGk=", "final": true}, a2e.Piece{Name: "n", Mime: "m", Content: []byte("hi"), Final: true}, true},
		{map[string]any{"name": "n", "chunk": ""}, a2e.Piece{Name: "n", Content: []byte{}}, true},
		{map[string]any{"name": "n", "chunk": "no base64", "final": true}, a2e.Piece{Name: "n", Final: true}, false},
		{map[string]any{"name": 1, "mime": nil, "chunk": 2, "final": "true"}, a2e.Piece{Content: []byte{}}, true},
	} {
		got, err := a2e.PieceOf(&a2e.Event{Kind: a2e.KindArtifact, Data: tt.data})
		if d := cmp.Diff(tt.want, got); d != "" || (err == nil) != tt.good {
			t.Errorf("%v: %v (-want +got):\n%s", tt.data, err, d)
		}
	}
}
