package main

import (
	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/config"
)

func (a *app) configCmd() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Check or show the configuration"}
	group(c)
	c.AddCommand(&cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what is wrong with a configuration, with line and column",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%sexpected at most one FILE, got %s (see '%s')", prefix(c), counted(args), helpFor(c))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.checkConfig(args) },
	}, &cobra.Command{
		Use:   "show",
		Short: "Print every setting and where it comes from",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			cfg, src, err := a.settings()
			if err != nil {
				return err
			}
			return config.Show(a.out, cfg, src)
		},
	})
	return c
}

func (a *app) checkConfig(args []string) error {
	if len(args) == 1 {
		a.flags.config = args[0]
	}
	_, src, err := a.settings()
	if err != nil {
		return err
	}
	where := "no configuration file: the defaults, the environment and the flags"
	if src.Path != "" {
		where = oneLine(src.Path, 300)
	}
	a.out.line(where + ": ok")
	return nil
}
