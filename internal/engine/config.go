package engine

import (
	"context"
	"io"
	"path"
	"strings"

	"github.com/hotcell/hotcell/internal/wall"
)

// Config is what an engine works with.
type Config struct {
	Stdin  io.Reader
	Stdout io.Writer
	Env    []string // NAME=VALUE
	Root   string   // before all of the cell's paths, for tests; "" in a cell
}

// Path is where one of the cell's places is.
func (c *Config) Path(name string) string { return path.Join("/", c.Root, name) }

// Getenv returns a variable, "" where there is none.
func (c *Config) Getenv(name string) string {
	for _, kv := range c.Env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// Tools returns the tool gate of this cell.
func (c *Config) Tools() *Tools { return NewTools(c.Getenv(wall.EnvTools), c.Getenv(wall.EnvToken)) }

// Cancelled says why a context has ended, as a failure.
func Cancelled(ctx context.Context) *Failure {
	if ctx.Err() == nil {
		return nil
	}
	return Failf(CodeCancelled, "the call was cancelled while the skill ran")
}
