package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/credentials"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/vault"
)

func (a *app) secretsCmd() *cobra.Command {
	c := &cobra.Command{Use: "secrets", Short: "Keep secrets encrypted, for references such as stored:NAME"}
	group(c)
	c.AddCommand(&cobra.Command{
		Use: "set NAME", Short: "Read a secret from standard input and keep it", Args: nameAlone,
		Long: "Read a secret from standard input, at a terminal unseen, and keep it encrypted in the data folder, in place of what NAME was\n" +
			"before. The configuration uses it as stored:NAME, in llm.providers (credential), secrets and tools.mcp.",
		Example: "  hotcell secrets set openai\n  hotcell secrets set openai < openai.key",
		RunE:    func(c *cobra.Command, args []string) error { return a.setSecret(c.Context(), args[0]) },
	}, &cobra.Command{
		Use: "list", Short: "List the names of the secrets that are kept", Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.listSecrets() },
	}, &cobra.Command{
		Use: "remove NAME", Short: "Forget a secret", Args: exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error { return a.removeSecret(c.Context(), args[0]) },
	})
	return c
}

// nameAlone is [exactly] for a command whose further arguments may be the secret itself: they are not repeated.
func nameAlone(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%sexpected NAME, got %d arguments: the value comes from standard input, and what stood here may be in the shell's history now (see '%s')",
			prefix(c), len(args), helpFor(c))
	}
	return exactly("NAME")(c, args)
}

func (a *app) vault() (*vault.Vault, error) {
	cfg, _, err := a.settings()
	if err != nil {
		return nil, err
	}
	return vault.At(filepath.Join(cfg.DataDir, host.SecretsDir)), nil
}

func (a *app) setSecret(ctx context.Context, name string) error {
	if !credentials.Name(name) {
		return usagef("secrets set: expected a name of at most 64 letters, digits, _, - and ., with no dot first")
	}
	v, err := a.vault()
	if err != nil {
		return err
	}
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	value, err := a.readSecret(name)
	if err != nil {
		return err
	}
	if err := host.DataFolder(cfg.DataDir); err != nil {
		return err
	}
	journal, err := host.OpenJournal(ctx, cfg, a.logger(cfg, slog.LevelWarn)) // before: what nobody could record is not done
	if err != nil {
		return err
	}
	defer journal.Close()
	if err := v.Set(name, value); err != nil {
		return err
	}
	if err := host.RecordAct(ctx, journal, audit.SecretSet, "", map[string]any{"secret": name}); err != nil {
		return err
	}
	a.errs.line("kept: stored:" + name)
	return nil
}

// readSecret reads a value, from a terminal without showing it. The line's end is not part of it.
func (a *app) readSecret(name string) ([]byte, error) {
	var value []byte
	var err error
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		a.errs.line("the value of " + name + ", which is not shown:")
		value, err = term.ReadPassword(int(f.Fd()))
	} else {
		value, err = io.ReadAll(io.LimitReader(a.stdin, credentials.MaxValue+3))
	}
	if err != nil {
		return nil, err
	}
	value = bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r"))
	if len(value) == 0 {
		return nil, errors.New("nothing was read: the value comes from standard input")
	}
	return value, nil
}

func (a *app) listSecrets() error {
	v, err := a.vault()
	if err != nil {
		return err
	}
	names, err := v.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		a.out.line(name)
	}
	return nil
}

func (a *app) removeSecret(ctx context.Context, name string) error {
	v, err := a.vault()
	if err != nil {
		return err
	}
	if names, err := v.Names(); err != nil || !slices.Contains(names, name) {
		return errors.Join(err, v.Remove(name)) // which says that there is none
	}
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	journal, err := host.OpenJournal(ctx, cfg, a.logger(cfg, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer journal.Close()
	if err := v.Remove(name); err != nil {
		return err
	}
	return host.RecordAct(ctx, journal, audit.SecretRemove, "", map[string]any{"secret": name})
}
