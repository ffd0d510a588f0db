package config

import (
	"os"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/llm"
)

// The reference has a row for every key, with its default, and none for a key that is not there.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // by key, what stands as default
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		key := strings.Trim(cells[1], " `")
		rows[key] = strings.Trim(cells[2], " `")
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s has no meaning", key)
		}
	}
	root := Default(true, "", "")
	want := map[string]string{"images.defaults.python": root.Images.Defaults["python"], "images.defaults.sh": root.Images.Defaults["sh"]}
	want["skills.plugins"], want["telemetry.otlp.headers"] = "{}", "{}"
	for _, f := range fields() {
		if !f.isMap() {
			want[f.key] = bare(shown(f.place(root)))
		}
	}
	for list, parts := range map[string][]part{
		"llm.providers[].": providerParts(&llm.Provider{}), "llm.providers[].prices[].": priceParts(&llm.Price{}),
		"llm.providers[].limits.": limitParts(&llm.Limits{}), "tools.mcp.NAME.": serverParts(&MCPServer{}), "kubernetes.tenants.NAME.": tenantParts(&Tenant{}),
	} {
		for _, p := range parts {
			if p.key != "prices" && p.key != "limits" {
				want[list+p.key] = bare(rows[list+p.key])
			}
		}
	}
	for key, def := range want {
		if got, ok := rows[key]; !ok || bare(got) != def {
			t.Errorf("docs/config.md: %s has the default %q, want %q (a row is there: %t)", key, got, def, ok)
		}
	}
	for key := range rows {
		if _, ok := want[key]; !ok && !strings.HasPrefix(key, "-") && !strings.HasPrefix(key, "HOTCELL") {
			t.Errorf("docs/config.md: there is no key %s", key)
		}
	}
}

func bare(s string) string { return strings.Trim(strings.ReplaceAll(s, `"`, ""), "[]") }

func shown(place any) string {
	switch p := place.(type) {
	case *[]llm.Provider:
		return flows(*p, providerParts)
	case *Secrets, *Logins, *map[string]MCPServer, *map[string]Tenant:
		return "{}"
	}
	return show(place)
}
