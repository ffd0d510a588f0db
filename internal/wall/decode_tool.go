package wall

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	maxToolID = 64  // bytes of a tool line's id
	maxTool   = 256 // bytes of a tool's name there
)

// DecodeTool reads a tool line. Its arguments are an object, {} where it has none; they do not alias line.
func DecodeTool(line []byte) (Tool, error) {
	o, err := parseLine(line, TypeTool)
	if err != nil {
		return Tool{}, err
	}
	t := Tool{Type: TypeTool, Arguments: []byte("{}")}
	if err := errors.Join(need(o, "id", "a string", &t.ID), need(o, "name", "a string", &t.Name)); err != nil {
		return Tool{}, oneLine(err)
	}
	switch args := o.get("arguments"); {
	case t.ID == "" || len(t.ID) > maxToolID:
		return Tool{}, fmt.Errorf("id: expected 1 to %d bytes", maxToolID)
	case t.Name == "" || len(t.Name) > maxTool:
		return Tool{}, fmt.Errorf("name: expected 1 to %d bytes", maxTool)
	case args == nil:
	case args[0] != '{':
		return Tool{}, errors.New("arguments: expected an object")
	default:
		t.Arguments = bytes.Clone(args)
	}
	return t, nil
}
