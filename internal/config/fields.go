package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/policies"
)

// field ties a key to its place in a Config. The place is a *string, *bool, *int, *int64, *float64, *[]string,
// *map[string]string, *images.PullPolicy, *policies.Bytes, *policies.MilliCPU, *policies.Network or *Age; or, from a file
// alone, a *Secrets, a *Logins, a *[]llm.Provider, a *map[string]MCPServer or a *map[string]Tenant.
type field struct {
	key   string
	place func(*Config) any
}

// fields returns the table of all fields, in the order in which they are shown.
func fields() []field { return slices.Concat(cellFields(), otherFields()) }

// cellFields are those of cells: what makes them, what they may use, and their images.
func cellFields() []field {
	return []field{
		{"listen", func(c *Config) any { return &c.Listen }},
		{"hosts", func(c *Config) any { return &c.Hosts }},
		{"socket", func(c *Config) any { return &c.Socket }},
		{"data_dir", func(c *Config) any { return &c.DataDir }},
		{"skills.dirs", func(c *Config) any { return &c.Skills.Dirs }},
		{"skills.plugins", func(c *Config) any { return &c.Skills.Plugins }},
		{"skills.bundled", func(c *Config) any { return &c.Skills.Bundled }},
		{"sandbox.driver", func(c *Config) any { return &c.Sandbox.Driver }},
		{"sandbox.runtime", func(c *Config) any { return &c.Sandbox.Runtime }},
		{"sandbox.max_cells", func(c *Config) any { return &c.Sandbox.MaxCells }},
		{"sandbox.max_memory", func(c *Config) any { return &c.Sandbox.MaxMemory }},
		{"sandbox.accept_unenforced", func(c *Config) any { return &c.Sandbox.AcceptUnenforced }},
		{"kubernetes.kubeconfig", func(c *Config) any { return &c.Kubernetes.Kubeconfig }},
		{"kubernetes.context", func(c *Config) any { return &c.Kubernetes.Context }},
		{"kubernetes.namespace", func(c *Config) any { return &c.Kubernetes.Namespace }},
		{"kubernetes.runner_image", func(c *Config) any { return &c.Kubernetes.RunnerImage }},
		{"kubernetes.network_policy", func(c *Config) any { return &c.Kubernetes.NetworkPolicy }},
		{"kubernetes.tenants", func(c *Config) any { return &c.Kubernetes.Tenants }},
		{"pool.max", func(c *Config) any { return &c.Pool.Max }},
		{"pool.idle", func(c *Config) any { return &c.Pool.Idle }},
		{"pool.max_age", func(c *Config) any { return &c.Pool.MaxAge }},
		{"policy.limits.memory", func(c *Config) any { return &c.Policy.Limits.Memory }},
		{"policy.limits.cpu", func(c *Config) any { return &c.Policy.Limits.CPU }},
		{"policy.limits.pids", func(c *Config) any { return &c.Policy.Limits.PIDs }},
		{"policy.limits.files", func(c *Config) any { return &c.Policy.Limits.Files }},
		{"policy.limits.workspace", func(c *Config) any { return &c.Policy.Limits.Workspace }},
		{"policy.limits.out", func(c *Config) any { return &c.Policy.Limits.Out }},
		{"policy.limits.output", func(c *Config) any { return &c.Policy.Limits.Output }},
		{"policy.network", func(c *Config) any { return &c.Policy.Network }},
		{"policy.llm.inject", func(c *Config) any { return &c.Policy.LLM.Inject }},
		{"policy.secrets", func(c *Config) any { return &c.Policy.Secrets }},
		{"policy.images.registries", func(c *Config) any { return &c.Policy.Images.Registries }},
		{"policy.images.digests", func(c *Config) any { return &c.Policy.Images.Digests }},
		{"policy.images.require_digest", func(c *Config) any { return &c.Policy.Images.RequireDigest }},
		{"policy.images.pull", func(c *Config) any { return &c.Policy.Images.Pull }},
		{"policy.custom.code", func(c *Config) any { return &c.Policy.Custom.Code }},
		{"images.defaults", func(c *Config) any { return &c.Images.Defaults }},
		{"images.lock", func(c *Config) any { return &c.Images.Lock }},
		{"images.keep", func(c *Config) any { return &c.Images.Keep }},
		{"images.prune", func(c *Config) any { return &c.Images.Prune }},
		{"images.auth", func(c *Config) any { return &c.Images.Auth }},
	}
}

// otherFields are those of all that is around cells.
func otherFields() []field {
	return []field{
		{"store.url", func(c *Config) any { return &c.Store.URL }},
		{"store.sync", func(c *Config) any { return &c.Store.Sync }},
		{"store.keep.calls", func(c *Config) any { return &c.Store.Keep.Calls }},
		{"store.keep.events", func(c *Config) any { return &c.Store.Keep.Events }},
		{"store.keep.artifacts", func(c *Config) any { return &c.Store.Keep.Artifacts }},
		{"store.keep.requests", func(c *Config) any { return &c.Store.Keep.Requests }},
		{"store.keep.max", func(c *Config) any { return &c.Store.Keep.Max }},
		{"audit.key", func(c *Config) any { return &c.Audit.Key }},
		{"audit.keep", func(c *Config) any { return &c.Audit.Keep }},
		{"audit.max", func(c *Config) any { return &c.Audit.Max }},
		{"tools.mcp", func(c *Config) any { return &c.Tools.MCP }},
		{"a2e.errors", func(c *Config) any { return &c.A2E.Errors }},
		{"a2e.embed_events", func(c *Config) any { return &c.A2E.EmbedEvents }},
		{"a2e.session_idle", func(c *Config) any { return &c.A2E.SessionIdle }},
		{"a2a.url", func(c *Config) any { return &c.A2A.URL }},
		{"llm.providers", func(c *Config) any { return &c.LLM.Providers }},
		{"llm.base_urls", func(c *Config) any { return &c.LLM.BaseURLs }},
		{"secrets", func(c *Config) any { return &c.Secrets }},
		{"auth.mode", func(c *Config) any { return &c.Auth.Mode }},
		{"auth.oidc.issuer", func(c *Config) any { return &c.Auth.OIDC.Issuer }},
		{"auth.oidc.audience", func(c *Config) any { return &c.Auth.OIDC.Audience }},
		{"auth.oidc.principal", func(c *Config) any { return &c.Auth.OIDC.Principal }},
		{"auth.oidc.groups", func(c *Config) any { return &c.Auth.OIDC.Groups }},
		{"auth.oidc.admins", func(c *Config) any { return &c.Auth.OIDC.Admins }},
		{"quotas.in_flight", func(c *Config) any { return &c.Quotas.InFlight }},
		{"quotas.per_minute", func(c *Config) any { return &c.Quotas.PerMinute }},
		{"quotas.cpu", func(c *Config) any { return &c.Quotas.CPU }},
		{"quotas.memory_seconds", func(c *Config) any { return &c.Quotas.Memory }},
		{"approvals.expire", func(c *Config) any { return &c.Approvals.Expire }},
		{"approvals.delete", func(c *Config) any { return &c.Approvals.Delete }},
		{"admin.listen", func(c *Config) any { return &c.Admin.Listen }},
		{"readiness.canary", func(c *Config) any { return &c.Readiness.Canary }},
		{"telemetry.otlp.endpoint", func(c *Config) any { return &c.Telemetry.OTLP.Endpoint }},
		{"telemetry.otlp.headers", func(c *Config) any { return &c.Telemetry.OTLP.Headers }},
		{"telemetry.otlp.insecure", func(c *Config) any { return &c.Telemetry.OTLP.Insecure }},
		{"telemetry.otlp.sample", func(c *Config) any { return &c.Telemetry.OTLP.Sample }},
		{"log.format", func(c *Config) any { return &c.Log.Format }},
		{"log.level", func(c *Config) any { return &c.Log.Level }},
	}
}

// decode puts raw into place. raw is a string, a []string for a list, or a map[string]any of strings; where a list is
// wanted a string is split at commas.
func decode(place, raw any) error {
	if m, ok := place.(*map[string]string); ok {
		return decodeMap(m, raw)
	}
	switch p := place.(type) {
	case *[]string:
		return decodeList(p, raw)
	case *policies.Network:
		return decodeNetwork(p, raw)
	case *Secrets:
		return whole(p, raw)
	case *Logins:
		return whole(p, raw)
	case *[]llm.Provider:
		return whole(p, raw)
	case *map[string]MCPServer:
		return whole(p, raw)
	case *map[string]Tenant:
		return whole(p, raw)
	}
	s, ok := raw.(string)
	if !ok {
		return errors.New("expected a single value")
	}
	if err := plain(s); err != nil {
		return err
	}
	switch p := place.(type) {
	case *string:
		*p = s
		return nil
	case *images.PullPolicy:
		*p = images.PullPolicy(s)
		return nil
	case *bool:
		return parse(p, s, "true or false", strconv.ParseBool)
	case *int:
		return parse(p, s, "a whole number", strconv.Atoi)
	case *int64:
		return parse(p, s, "a whole number", func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
	case *float64:
		return parse(p, s, "a number", func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
	case *policies.Bytes:
		return quantity(p, s, policies.ParseBytes)
	case *policies.MilliCPU:
		return quantity(p, s, policies.ParseMilliCPU)
	case *Age:
		return quantity(p, s, parseAge)
	case *llm.Money:
		return quantity(p, s, llm.ParseMoney)
	}
	return fmt.Errorf("a field of type %T cannot be read", place)
}

// whole takes over what the file's reader has made already.
func whole[T any](to *T, raw any) error {
	v, ok := raw.(T)
	if !ok {
		return fmt.Errorf("expected a %T", v)
	}
	*to = v
	return nil
}

func parse[T any](to *T, s, want string, read func(string) (T, error)) error {
	v, err := read(s)
	if err != nil {
		return fmt.Errorf("expected %s, not %q", want, s)
	}
	*to = v
	return nil
}

// quantity reads an amount; here 0 stands for an unset one.
func quantity[T ~int64](to *T, s string, read func(string) (T, error)) error {
	if s == "0" {
		*to = 0
		return nil
	}
	v, err := read(s)
	if err != nil {
		return err
	}
	*to = v
	return nil
}

func decodeList(to *[]string, raw any) error {
	var list []string
	switch r := raw.(type) {
	case []string:
		list = r
	case string:
		if strings.HasPrefix(r, "[") && strings.HasSuffix(r, "]") {
			return errors.New("expected entries separated by commas, without brackets: a,b")
		}
		for s := range strings.SplitSeq(r, ",") {
			list = append(list, strings.TrimSpace(s))
		}
	default:
		return errors.New("expected a list")
	}
	for _, s := range list {
		if err := plain(s); err != nil {
			return err
		}
	}
	*to = list
	return nil
}

// decodeMap lays raw over what is there, so that setting one entry leaves the others.
func decodeMap(to *map[string]string, raw any) error {
	m, ok := raw.(map[string]any)
	if !ok {
		return errors.New("expected a mapping")
	}
	for k, v := range m {
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("%s: expected text", k)
		}
		if err := plain(s); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
		(*to)[k] = s
	}
	return nil
}

// plain refuses what could forge a line in a log, a terminal or the output of show.
func plain(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("not valid UTF-8")
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }) {
		return errors.New("control characters are not allowed")
	}
	return nil
}
