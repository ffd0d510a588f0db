package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/host"
	"github.com/hotcell/hotcell/internal/store"
)

// tokenFlags describe a token that is to be made.
type tokenFlags struct {
	principal, agent, note, expires string
	groups, scopes                  []string
	json                            bool
}

const never = "never"

func (a *app) tokensCmd() *cobra.Command {
	c := &cobra.Command{Use: "tokens", Short: "Make, list or revoke the tokens of those who call the daemon"}
	group(c)
	c.AddCommand(a.createTokenCmd(), a.listTokensCmd(), a.revokeTokensCmd())
	return c
}

func (a *app) createTokenCmd() *cobra.Command {
	var f tokenFlags
	c := &cobra.Command{
		Use: "create", Short: "Make a token and print it, this once", Args: exactly(),
		Long: "Make a token and print it on stdout. It is shown this once: what is kept is a digest of it.\n" +
			"A daemon that has the same data folder takes it at once.",
		RunE: func(c *cobra.Command, _ []string) error { return a.createToken(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.principal, "principal", "", "`NAME` of who calls with it; required")
	flags.StringArrayVar(&f.groups, "group", nil, "`GROUP` of the principal, or GROUP=ROLE with the role member, admin or owner; may be repeated")
	flags.StringSliceVar(&f.scopes, "scope", []string{string(auth.Calls), string(auth.SkillsRead)},
		"`SCOPES`: what it is for: calls, skills:read, skills:write, admin; may be repeated")
	flags.StringVar(&f.agent, "agent", "", "`ID` of the only agent that may call with it (default: any)")
	flags.StringVar(&f.expires, "expires", "90d", "`TIME` that it lasts, such as 12h or 365d, or never")
	flags.StringVar(&f.note, "note", "", "`TEXT` to know it by")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return c
}

// made is what --json prints of a token, the one time that it is shown.
type made struct {
	auth.Token
	Text string `json:"token"`
}

func (a *app) createToken(ctx context.Context, f tokenFlags) error {
	now := time.Now().UTC().Truncate(time.Microsecond)
	want, err := f.token(now)
	if err != nil {
		return usagef("tokens create: %w", err)
	}
	t, secret, err := auth.Issue(want, now)
	if err != nil {
		return usagef("tokens create: %w", err)
	}
	cfg, _, err := a.settings()
	if err != nil {
		return err
	}
	if err := host.DataFolder(cfg.DataDir); err != nil {
		return err
	}
	journal, err := host.OpenJournal(ctx, cfg, a.logger(cfg, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer journal.Close()
	if err := journal.AddToken(host.ByOperator(ctx), t, secret.Digest()); err != nil {
		return err
	}
	a.warnOfUnbounded(ctx, journal, t)
	if f.json {
		return a.printJSON(made{t, secret.Reveal()})
	}
	a.errs.line(fmt.Sprintf("made %s for %s, %s; it is shown this once:", t.ID, t.Principal, expiry(t)))
	if cfg.Auth.Mode == config.AuthNone {
		a.errs.line("hotcell: warning: auth.mode is none: a daemon with this configuration looks at no token")
	}
	a.out.line(secret.Reveal())
	return a.out.failed()
}

// token is what the flags describe.
func (f tokenFlags) token(now time.Time) (auth.Token, error) {
	t := auth.Token{Principal: f.principal, Agent: f.agent, Note: f.note}
	if f.principal == "" {
		return t, errors.New("--principal says whose token it is: it is required")
	}
	for _, g := range f.groups {
		m, err := auth.ParseMembership(g)
		if err != nil {
			return t, fmt.Errorf("--group: %w", err)
		}
		t.Groups = append(t.Groups, m)
	}
	for _, s := range f.scopes {
		scope, err := auth.ParseScope(s)
		if err != nil {
			return t, fmt.Errorf("--scope: %w", err)
		}
		t.Scopes = append(t.Scopes, scope)
	}
	if f.expires == never {
		return t, nil
	}
	lasts, err := config.ParseAge(f.expires)
	if err != nil {
		return t, fmt.Errorf("--expires: %w, or never", err)
	}
	t.Expires = now.Add(time.Duration(lasts))
	return t, nil
}

func expiry(t auth.Token) string {
	if t.Expires.IsZero() {
		return "never expires"
	}
	return "expires " + t.Expires.Local().Format(time.DateTime)
}

func (a *app) listTokensCmd() *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the tokens that open something", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.listTokens(c.Context(), all, asJSON) },
	}
	c.Flags().BoolVar(&all, "all", false, "list those too that have expired or were revoked, for 90 days")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) listTokens(ctx context.Context, all, asJSON bool) error {
	journal, err := a.tokenStore(ctx)
	if err != nil {
		return err
	}
	list := []auth.Token{}
	now := time.Now()
	if journal != nil {
		defer journal.Close()
		kept, err := journal.Tokens(ctx)
		if err != nil {
			return err
		}
		for _, t := range kept {
			if all || t.Lives(now) {
				list = append(list, t)
			}
		}
	}
	if asJSON {
		return a.printJSON(list)
	}
	var rows [][]string
	for _, t := range list {
		rows = append(rows, []string{t.ID, t.Principal, joinWords(t.Groups), t.Agent, joinWords(t.Scopes), tokenState(t, now), oneLine(t.Note, 200)})
	}
	table(a.out, []string{"ID", "PRINCIPAL", "GROUPS", "AGENT", "SCOPES", "STATE", "NOTE"}, rows)
	return nil
}

func joinWords[T any](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ",")
}

func tokenState(t auth.Token, now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked " + t.Revoked.Local().Format(time.DateTime)
	case !t.Lives(now):
		return "expired " + t.Expires.Local().Format(time.DateTime)
	}
	return expiry(t)
}

func (a *app) revokeTokensCmd() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID...", Short: "End tokens, at once and for good",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%sexpected the ids of tokens, as 'hotcell tokens list' shows them (see '%s')", prefix(c), helpFor(c))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.revokeTokens(c.Context(), args) },
	}
}

// revokeTokens revokes all that it can before it says what it could not.
func (a *app) revokeTokens(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if strings.HasPrefix(id, auth.Prefix) {
			return usagef("tokens revoke: expected ids such as tok-0123456789ab, not a token: 'hotcell tokens list' shows them")
		}
	}
	journal, err := a.tokenStore(ctx)
	if err != nil {
		return err
	}
	if journal == nil {
		return usagef("there is no token %s: none has been made in this data folder", oneLine(ids[0], 60))
	}
	defer journal.Close()
	var errs []error
	for _, id := range ids {
		switch err := journal.RevokeToken(host.ByOperator(ctx), id); {
		case errors.Is(err, store.ErrNoToken):
			errs = append(errs, usagef("there is no token %s: 'hotcell tokens list --all' shows those that are kept", oneLine(id, 60)))
		case err != nil:
			return errors.Join(append(errs, err)...)
		default:
			a.errs.line("revoked: " + oneLine(id, 60))
		}
	}
	return errors.Join(errs...)
}

// tokenStore opens the journal, or returns nil where there is none yet.
func (a *app) tokenStore(ctx context.Context) (*store.Store, error) {
	cfg, _, err := a.settings()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(cfg.JournalPath()); cfg.JournalPath() != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return host.OpenJournal(ctx, cfg, a.logger(cfg, slog.LevelWarn))
}
