package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/hotcell/hotcell/internal/engine"
)

// maxRead is the most of a file that one answer holds, in bytes: it fits the bound of a tool's answer, with words around.
const maxRead = 32 << 10

// readTool lets the model read the files of one folder, in pieces.
func readTool(name, description string, files *engine.Files) (toolDef, func(context.Context, json.RawMessage) (string, error)) {
	def := toolDef{name, description, map[string]any{
		"type": "object",
		"properties": map[string]any{
			"path":   map[string]any{"type": "string", "description": "The file's name as it is listed."},
			"offset": map[string]any{"type": "integer", "minimum": 0, "description": "The byte to begin with; 0 where it is left out."},
		},
		"required": []string{"path"},
	}}
	return def, func(_ context.Context, arguments json.RawMessage) (string, error) {
		var args struct {
			Path   string `json:"path"`
			Offset int64  `json:"offset"`
		}
		if err := json.Unmarshal(arguments, &args); err != nil || args.Path == "" || args.Offset < 0 {
			return "", &engine.ToolError{Tool: name, Code: "invalid_arguments", Message: "expected path, a file's name as it is listed, and perhaps offset, a whole number from 0"}
		}
		text, err := readPiece(files, args.Path, args.Offset)
		if err != nil {
			return "", &engine.ToolError{Tool: name, Code: "not_readable", Message: err.Error()}
		}
		return text, nil
	}
}

// readPiece reads whole characters of a text file, and says where the next piece begins.
func readPiece(files *engine.Files, name string, offset int64) (string, error) {
	f, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", engine.Plain(err)
	}
	piece, err := io.ReadAll(io.NewSectionReader(f, offset, maxRead))
	if err != nil {
		return "", engine.Plain(err)
	}
	for cut := 0; cut < utf8.UTFMax-1 && offset+int64(len(piece)) < info.Size() && !utf8.Valid(piece) && len(piece) > 0; cut++ {
		piece = piece[:len(piece)-1]
	}
	if !utf8.Valid(piece) {
		return "", fmt.Errorf("%s is no text in UTF-8 (from byte %d on)", engine.OneLine(name, 200), offset)
	}
	text := string(piece)
	if next := offset + int64(len(piece)); next < info.Size() {
		text += fmt.Sprintf("\n[%d of %d bytes; go on with offset %d]", len(piece), info.Size(), next)
	}
	return text, nil
}
