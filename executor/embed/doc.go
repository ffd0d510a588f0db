// Package embed is hotcell within a Go program of yours: its skills run in sealed cells, as they do in the daemon, and the
// program serves skills of its own beside them, in its own process. Callers see one list of skills, and each call has the same
// journal, deadline, events and answer, wherever its skill runs.
//
// A skill of the program's own is a method of a [Plugin]. It is trusted: it runs with all that the program may do.
//
//	host, err := embed.Open(ctx, embed.Options{Plugins: []embed.Plugin{greeter{}}})
//	...
//	defer host.Close(ctx)
//	err = host.ServeStdio(ctx, os.Stdin, os.Stdout)
//
// Skills that run in cells need two programs, which [Options.Programs] holds. They are built of the same version of this
// module:
//
//	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -o programs/hotcell-runner-amd64 github.com/hotcell/hotcell/cmd/hotcell-runner
//	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -o programs/hotcell-engine-amd64 github.com/hotcell/hotcell/cmd/hotcell-engine
//	gzip programs/hotcell-engine-amd64
//
// Everything that a signature names has a name here or in the standard library, so that other modules can use it.
package embed
