package main

import (
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/host"
)

// versionInfo is what `hotcell version --json` prints.
type versionInfo struct {
	Version  string           `json:"version"`
	Revision string           `json:"revision,omitempty"`
	Go       string           `json:"go"`
	OS       string           `json:"os"`
	Arch     string           `json:"arch"`
	A2E      string           `json:"a2e"`
	Runners  map[string]int64 `json:"runners"` // architecture → bytes of the runner inside
	Engines  map[string]int64 `json:"engines"` // the same for the packed engine of agent and JavaScript skills
}

func (a *app) versionCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version and what is built in",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			v := version(embedded)
			if asJSON {
				return a.printJSON(v)
			}
			a.printVersion(v)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func version(programs fs.FS) versionInfo {
	v := versionInfo{
		Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, A2E: a2e.Version,
		Runners: map[string]int64{}, Engines: map[string]int64{},
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		if b.Main.Version != "" && b.Main.Version != "(devel)" {
			v.Version = b.Main.Version
		}
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	for _, arch := range host.Architectures() {
		if info, err := fs.Stat(programs, host.RunnerFile(arch)); err == nil {
			v.Runners[arch] = info.Size()
		}
		if info, err := fs.Stat(programs, host.EngineFile(arch)); err == nil {
			v.Engines[arch] = info.Size()
		}
	}
	return v
}

func (a *app) printVersion(v versionInfo) {
	line := "hotcell " + v.Version
	if v.Revision != "" && len(v.Revision) > 12 {
		line += " (" + v.Revision[:12] + ")"
	}
	a.out.line(fmt.Sprintf("%s, %s %s/%s, A2E %s", line, v.Go, v.OS, v.Arch, v.A2E))
	for _, arch := range host.Architectures() {
		a.printProgram("runner", arch, v.Runners)
		a.printProgram("engine", arch, v.Engines)
	}
}

func (a *app) printProgram(name, arch string, sizes map[string]int64) {
	if n, ok := sizes[arch]; ok {
		a.out.line(fmt.Sprintf("  %s for %s: %s", name, arch, size(n)))
		return
	}
	a.out.line(fmt.Sprintf("  %s for %s: not built in; 'make build' does it", name, arch))
}
