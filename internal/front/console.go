package front

import (
	"context"

	"github.com/hotcell/hotcell/internal/console"
	"github.com/hotcell/hotcell/internal/rest"
)

// pagesDoor is the web console as one of the daemon's doors.
type pagesDoor struct{ console *console.Console }

// pagesOverHTTP is the console. It is to be served, and mounted on the listener.
func pagesOverHTTP(o Options) (pagesDoor, error) {
	if o.Book == nil || o.Pulse == nil {
		return pagesDoor{}, nil
	}
	c, err := console.New(console.Options{
		Control: o.Supervisor, Book: o.Book, Pulse: o.Pulse, Handler: o.Supervisor, Auth: o.Auth,
		Reader: o.Reader, Custom: o.Custom, Installer: o.Installer, Agents: o.Agents, Approvals: o.Approvals, Audit: o.Audit,
		Explain: o.Explain, Images: o.Images, Doctor: o.Doctor, Version: o.Version, Log: o.Log,
	})
	return pagesDoor{c}, err
}

func (d pagesDoor) mounts() []rest.Mount {
	if d.console == nil {
		return nil
	}
	return []rest.Mount{{Patterns: console.Patterns(), Content: console.Content(), MaxBody: console.MaxBody, Pages: true, Home: console.Base + "/", Handler: d.console}}
}

// Console reports whether there is a web console.
func (w *Web) Console() bool { return w.pages.console != nil }

// serve ends the live pages when ctx ends.
func (d pagesDoor) serve(ctx context.Context) error {
	if d.console == nil {
		<-ctx.Done()
		return nil
	}
	return d.console.Run(ctx)
}
