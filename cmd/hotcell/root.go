package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// globalFlags are those that every command takes.
type globalFlags struct {
	config  string
	skills  []string
	driver  string
	dataDir string
}

// root builds the whole command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "hotcell",
		Short: "Run untrusted agent skills in sealed, single-use containers",
		Long: "hotcell runs untrusted agent skills in sealed, single-use containers.\n\n" +
			"Exit codes: 0 success, 1 skill or runtime error, 2 usage or bad request, 3 timeout, 4 out of memory,\n" +
			"5 sandbox crash or no engine, 6 unauthorized, 130 interrupted.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	group(root)
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%s%s (see '%s')", prefix(c), plainNumber.ReplaceAllString(oneLine(err.Error(), 300), ""), helpFor(c))
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.config, "config", "", "configuration `FILE` (default: $HOTCELL_CONFIG, ./hotcell.yaml, /etc/hotcell/hotcell.yaml)")
	flags.StringArrayVar(&a.flags.skills, "skills", nil, "`DIR` of skills, before the configured ones; may be repeated (also $HOTCELL_SKILLS)")
	flags.StringVar(&a.flags.driver, "driver", "", "what makes cells: `NAME` auto, docker, oci or kubernetes")
	flags.StringVar(&a.flags.dataDir, "data-dir", "", "`DIR` that hotcell keeps its data in")
	root.AddCommand(a.runCmd(), a.serveCmd(), a.stdioCmd(), a.mcpCmd(), a.skillsCmd(), a.callsCmd(), a.policyCmd(), a.configCmd(),
		a.imagesCmd(), a.secretsCmd(), a.tokensCmd(), a.agentsCmd(), a.approvalsCmd(), a.auditCmd(), a.doctorCmd(), a.versionCmd())
	root.SetHelpCommand(helpCmd(root))
	return root
}

// plainNumber is what Go's own words for a bad number start with.
var plainNumber = regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": `)

// prefix names the command that an error is about: "calls list: ". The program's own name stands before every error.
func prefix(c *cobra.Command) string {
	if !c.HasParent() {
		return ""
	}
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ") + ": "
}

// group makes c a command that does nothing itself and has others below it.
func group(c *cobra.Command) {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(c, args[0])
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return usagef("%sexpected one of %s (see '%s')", prefix(c), below(c), helpFor(c))
	}
	c.SuggestionsMinimumDistance = 2
}

func unknownCommand(c *cobra.Command, name string) error {
	name = oneLine(name, 60)
	if near := c.SuggestionsFor(name); len(near) > 0 {
		return usagef("unknown command %q, did you mean '%s %s'?", name, c.CommandPath(), near[0])
	}
	return usagef("unknown command %q: expected one of %s (see '%s')", name, below(c), helpFor(c))
}

func below(c *cobra.Command) string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" && sub.Name() != "help" {
			names = append(names, sub.Name())
		}
	}
	return strings.Join(names, ", ")
}

// helpFor is the command that explains c.
func helpFor(c *cobra.Command) string {
	return strings.TrimSpace("hotcell help " + strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "hotcell"), " "))
}

// helpCmd replaces cobra's, which prints a page of usage for a topic that is not there.
func helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c := root
			for _, name := range args {
				next := child(c, name)
				if next == nil {
					return unknownCommand(c, name)
				}
				c = next
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

func child(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}

// exactly checks that a command got the arguments that names lists.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		want := "no argument"
		if len(names) > 0 {
			want = strings.Join(names, " ")
		}
		return usagef("%sexpected %s, got %s (see '%s')", prefix(c), want, counted(args), helpFor(c))
	}
}

// someOf checks that a command got an argument, or several.
func someOf(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return exactly(name)(c, args)
	}
}

func counted(args []string) string {
	switch len(args) {
	case 0:
		return "nothing"
	case 1:
		return fmt.Sprintf("%q", quoted(args))
	}
	return fmt.Sprintf("%d arguments: %s", len(args), quoted(args))
}

// quoted is what a command was given, cleaned for messages.
func quoted(args []string) string { return oneLine(strings.Join(args, " "), 80) }
