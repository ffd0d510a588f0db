package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/host"
)

// imageName is an image's name as registries and engines take it, with a tag and without a digest.
var imageName = regexp.MustCompile(`^((localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+)(:[0-9]+)?/|[A-Za-z0-9-]+:[0-9]+/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$`)

func (a *app) imagesRunnerCmd() *cobra.Command {
	var ref, arch string
	c := &cobra.Command{
		Use:   "runner FILE|-",
		Short: "Write the image that the nodes of a cluster need (driver kubernetes)",
		Long: "Write the image with the runner, from which each pod of the driver kubernetes takes its first program, as an archive of\n" +
			"docker save. Put it into a registry that the cluster's nodes reach, or load it on each node, and name it in\n" +
			"kubernetes.runner_image.\n\n" +
			"  hotcell images runner - | docker load",
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return a.writeRunner(args[0], ref, arch) },
	}
	c.Flags().StringVar(&ref, "ref", "", "`NAME` of the image (default: hotcell/runner and this version)")
	c.Flags().StringVar(&arch, "arch", runtime.GOARCH, "`ARCH` of the nodes: "+strings.Join(host.Architectures(), " or "))
	return c
}

func (a *app) writeRunner(file, ref, arch string) (err error) {
	if !slices.Contains(host.Architectures(), arch) {
		return usagef("--arch %s: expected %s", oneLine(arch, 40), strings.Join(host.Architectures(), " or "))
	}
	if ref != "" && !imageName.MatchString(ref) {
		return usagef("--ref %s: expected a name with a tag, such as registry.example/hotcell/runner:1", oneLine(ref, 200))
	}
	if ref == "" {
		ref = "hotcell/runner:" + strings.ReplaceAll(version(embedded).Version, "+", "-")
	}
	img, err := host.RunnerImage(embedded, arch, ref)
	if err != nil {
		return err
	}
	var out io.Writer = a.stdout
	if file != "-" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return usagef("%w", plainPathError(err))
		}
		defer func() {
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}()
		out = f
	}
	id, err := img.Write(out)
	if err != nil {
		return err
	}
	if file != "-" {
		a.out.line(fmt.Sprintf("%s  %s", oneLine(ref, 200), id))
	}
	return nil
}
