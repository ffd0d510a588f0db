package metrics

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	machine "github.com/hotcell/hotcell/internal/testutil"
)

// listing notes the names of what is registered, whether it has a value yet or not.
type listing struct{ names map[string]bool }

var (
	fqName    = regexp.MustCompile(`fqName: "([^"]+)"`)
	component = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// Register implements [prometheus.Registerer].
func (l listing) Register(c prometheus.Collector) error {
	ch := make(chan *prometheus.Desc)
	go func() {
		c.Describe(ch)
		close(ch)
	}()
	for d := range ch {
		l.names[fqName.FindStringSubmatch(d.String())[1]] = true
	}
	return nil
}

// MustRegister implements [prometheus.Registerer].
func (l listing) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = l.Register(c)
	}
}

// Unregister implements [prometheus.Registerer].
func (l listing) Unregister(prometheus.Collector) bool { return false }

// everything is the names of all metrics of a daemon.
func everything() map[string]bool {
	l := listing{map[string]bool{"up": true}}
	m := New(l, Options{})
	m.Ready(true)
	m.Ask(Gauges{
		Pool: func() (int, int, int) { return 1, 2, 3 }, Backlog: func() (int, int) { return 4, 5 }, Size: func() int64 { return 6 },
	})
	families, err := NewRegistry().Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		l.names[f.GetName()] = true
	}
	return l.names
}

// Every metric that the dashboards and the rules name exists, and each of hotcell's own is on a dashboard or in a rule.
func TestDeployNamesWhatExists(t *testing.T) {
	known, used := everything(), map[string]bool{}
	rules, err := os.ReadFile("../../deploy/prometheus/hotcell.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`record: (\S+)`).FindAllSubmatch(rules, -1) {
		known[string(m[1])] = true
	}
	boards, err := filepath.Glob("../../deploy/grafana/*.json")
	if err != nil || len(boards) == 0 {
		t.Fatal("no dashboards", err)
	}
	name := regexp.MustCompile(`\b(?:hotcell[:_][a-z0-9_:]+|process_[a-z_]+|go_[a-z_]+|up)\b`)
	label := regexp.MustCompile(`"[^"]*"|\{\{[^}]*\}\}`)
	for _, file := range append(boards, "../../deploy/prometheus/hotcell.rules.yml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, expr := range expressions(string(text)) {
			for _, n := range name.FindAllString(label.ReplaceAllString(expr, ""), -1) {
				if !known[n] && !known[component.ReplaceAllString(n, "")] {
					t.Errorf("%s: there is no metric %s", filepath.Base(file), n)
				}
				used[n], used[component.ReplaceAllString(n, "")] = true, true
			}
		}
	}
	for n := range known {
		if strings.HasPrefix(n, "hotcell_") && !used[n] {
			t.Errorf("%s is on no dashboard and in no rule", n)
		}
	}
	if len(used) < 50 {
		t.Errorf("only %d names were found", len(used))
	}
}

// expressions are the queries in a dashboard or a file of rules.
func expressions(text string) (all []string) {
	for _, m := range regexp.MustCompile(`"(?:expr|definition)": "((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(m[1], `\"`, `"`))
	}
	for _, m := range regexp.MustCompile(`(?m)^ +expr: (?:\|\n((?: {10,}.*\n)+)|(.*))$?`).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}

// Every alert has its section in the handbook, and its unit test.
func TestAlertsAreExplained(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	rules, tests, handbook := read("deploy/prometheus/hotcell.rules.yml"), read("deploy/prometheus/hotcell.rules_test.yml"), read("docs/operations.md")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	if len(alerts) < 10 {
		t.Fatalf("%d alerts", len(alerts))
	}
	for _, m := range alerts {
		if !strings.Contains(handbook, "\n### "+m[1]+"\n") {
			t.Errorf("docs/operations.md has no section %s", m[1])
		}
		if !strings.Contains(rules, "runbook: docs/operations.md#"+strings.ToLower(m[1])+"\n") {
			t.Errorf("%s does not lead to its section", m[1])
		}
		if !regexp.MustCompile(fmt.Sprintf(`alertname: %s\n +exp_alerts:\n +- exp_labels`, m[1])).MatchString(tests) {
			t.Errorf("%s fires in no unit test", m[1])
		}
	}
}

func TestRules(t *testing.T) {
	machine.Require(t, "promtool")
	for _, args := range [][]string{
		{"check", "rules", "hotcell.rules.yml"}, {"test", "rules", "hotcell.rules_test.yml"}, {"check", "config", "--syntax-only", "prometheus.yml"},
	} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = "../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
