package console

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/control"
)

// words of the vocabulary: the codes and the reasons as internal/a2e declares them, so that a new one needs a text.
func vocabulary(t *testing.T) (codes []a2e.Code, reasons []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../a2e/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		text, _ := strconv.Unquote(lit.Value)
		switch typ, _ := spec.Type.(*ast.Ident); {
		case typ != nil && typ.Name == "Code":
			codes = append(codes, a2e.Code(text))
		case strings.HasPrefix(spec.Names[0].Name, "Reason"):
			reasons = append(reasons, text)
		}
		return true
	})
	if len(codes) != 11 || len(reasons) < 20 {
		t.Fatalf("%d codes and %d reasons were found", len(codes), len(reasons))
	}
	return codes, reasons
}

func TestEachCodeAndReasonHasAText(t *testing.T) {
	codes, reasons := vocabulary(t)
	for _, code := range codes {
		e := explain(&cause{fail: &a2e.Error{Code: code, Message: "m"}})
		if strings.Contains(strings.Join(e.What, " "), "no words for") {
			t.Errorf("%s has no text", code)
		}
	}
	rows := whys()
	for _, reason := range reasons {
		found := false
		for _, r := range rows {
			found = found || r.reason == reason
		}
		if !found {
			t.Errorf("%s has no text", reason)
		}
	}
	seen := map[string]string{}
	for _, r := range rows {
		c := &cause{fail: (&a2e.Error{Code: r.code, Message: "m " + r.has, Retryable: r.code.Retryable()}).Because(r.reason)}
		e := explain(c)
		where := string(r.code) + "/" + r.reason + "/" + r.has
		if e.Title == "" || len(e.What) == 0 || len(e.Change) == 0 || e.Again == "" || !strings.HasSuffix(e.Title, ".") {
			t.Errorf("%s says too little: %+v", where, e)
		}
		for _, a := range e.Change {
			if a.Do == "" || (a.Text == "") != (a.File == "") {
				t.Errorf("%s: %+v", where, a)
			}
		}
		if other := seen[e.Title]; other != "" {
			t.Errorf("%s and %s have the same title: %s", where, other, e.Title)
		}
		seen[e.Title] = where
	}
	for _, h := range hints() {
		if h.fits != nil && !h.fits(&cause{fail: a2e.Errorf(a2e.SkillError, "m")}, &h, "") {
			t.Errorf("%s fits nothing", h.has)
		}
		if h.has == "" || h.title == "" || h.what == "" || len(h.change) == 0 {
			t.Errorf("%+v", h)
		}
	}
	if e := explain(&cause{fail: &a2e.Error{Code: "new_code", Message: "m"}}); e.Title == "" || len(e.Change) == 0 {
		t.Errorf("%+v", e)
	}
}

// advised is all that an explanation says to write, with where.
func advised(e *explanation) string {
	var b strings.Builder
	for _, a := range e.Change {
		b.WriteString(a.File + ": " + strings.Join(strings.Fields(a.Text), " ") + "\n")
	}
	return b.String()
}

func TestWhatToWriteFollowsFromTheEvidence(t *testing.T) {
	call := control.Call{Skill: "tables", Started: noon, Ended: noon.Add(10 * time.Second), Deadline: noon.Add(10 * time.Second), Usage: &control.Usage{MemoryPeakBytes: 300 << 20, CPUMS: 9900}}
	oom, late := a2e.Errorf(a2e.OutOfMemory, "m"), a2e.Errorf(a2e.Timeout, "m")
	chosen := func(field, value, from string) *control.Ran {
		return usual(control.Choice{Field: field, Value: value, From: from})
	}
	cut := chosen("limits.memory", "300Mi", "operator")
	cut.Clamps = []control.Clamp{{Field: "limits.memory", By: "operator", Asker: "skill", Asked: "1Gi", Granted: "300Mi"}}
	asked := chosen("timeout", "10s", "call")
	for name, one := range map[string]struct {
		fail *a2e.Error
		ran  *control.Ran
		want []string
		none string
	}{
		"the skill's own limit":     {oom, chosen("limits.memory", "300Mi", "skill"), []string{"skill.yaml: limits: memory: 768Mi"}, "hotcell.yaml"},
		"the operator's bound":      {oom, chosen("limits.memory", "300Mi", "operator"), []string{"skill.yaml: limits: memory: 768Mi", "hotcell.yaml: policy: limits: memory: 768Mi"}, ""},
		"a wish that was cut":       {oom, cut, []string{"hotcell.yaml: policy: limits: memory: 768Mi"}, "skill.yaml"},
		"no more memory to be had":  {oom, chosen("limits.memory", "4Gi", "skill"), nil, "memory:"},
		"nobody knows the policy":   {oom, nil, []string{"skill.yaml: limits: memory: 768Mi"}, ""},
		"the caller's own time-out": {late, asked, []string{`the request: "timeout": 20`}, "timeout_seconds"},
		"the skill's time-out":      {late, chosen("timeout", "10s", "skill"), []string{"skill.yaml: timeout_seconds: 20", "skill.yaml: limits: cpu: 2"}, "the request"},
		"no more time to be had":    {late, chosen("timeout", "600s", "skill"), nil, "timeout_seconds"},
	} {
		e := explain(&cause{call: call, fail: one.fail, ran: one.ran})
		got := advised(e)
		for _, want := range one.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in %q", name, want, got)
			}
		}
		if one.none != "" && strings.Contains(got, one.none) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestNamesAreFilledInOnlyWhereTheyDoNoHarm(t *testing.T) {
	blocked := a2e.Errorf(a2e.RuntimeError, "m").Because(a2e.ReasonUnsupported)
	if got := advised(explain(&cause{call: control.Call{Skill: "tables"}, fail: blocked})); !strings.Contains(got, "hotcell policy explain tables") {
		t.Errorf("%s", got)
	}
	if got := advised(explain(&cause{call: control.Call{Skill: "x; rm -rf /"}, fail: blocked})); !strings.Contains(got, "hotcell policy explain SKILL") {
		t.Errorf("%s", got)
	}
	secret := a2e.Errorf(a2e.RuntimeError, `skill "tables": it needs the secret GITHUB_TOKEN, which this host does not have: the operator can add it to secrets in the configuration`).Because(a2e.ReasonUnsupported)
	if got := advised(explain(&cause{fail: secret})); !strings.Contains(got, `secrets: GITHUB_TOKEN: "env:GITHUB_TOKEN"`) {
		t.Errorf("%s", got)
	}
	key := a2e.Errorf(a2e.RuntimeError, "the skill needs a model and no provider is available (openai: env:OPENAI_API_KEY: there is no such variable in hotcell's environment)").Because(a2e.ReasonUnsupported)
	if got := advised(explain(&cause{fail: key})); !strings.Contains(got, "OPENAI_API_KEY=...") {
		t.Errorf("%s", got)
	}
	near := a2e.Errorf(a2e.UnknownSkill, "m").With("suggestion", "greet")
	if got := advised(explain(&cause{fail: near})); !strings.Contains(got, `"name": "greet"`) {
		t.Errorf("%s", got)
	}
	lure := a2e.Errorf(a2e.SkillError, "evil.example:443\"]\n  - x is not in network.allow").Because(a2e.ReasonExit)
	if got := advised(explain(&cause{fail: lure})); strings.Contains(got, "evil") {
		t.Errorf("%s", got)
	}
}

func TestAmounts(t *testing.T) {
	for text, n := range map[string]int64{"256Mi": 256 << 20, "1Gi": 1 << 30, "1000": 1000, "8Ki": 8192, "x": 0, "-1Mi": 0, "": 0, "99999999999Gi": 0} {
		if got := bytesOf(text); got != n {
			t.Errorf("%q: %d, want %d", text, got, n)
		}
		if n > 0 && bytesText(n) != text {
			t.Errorf("%d: %s, want %s", n, bytesText(n), text)
		}
	}
	for n, want := range map[int64]int64{1: mib, 3 * mib: 3 * mib, 5 * mib: 6 * mib, 512 * mib: 512 * mib, 600 * mib: 768 * mib, 5 * gib: 4 * gib} {
		if got := roomy(n, mostMemory); got != want {
			t.Errorf("%s: %s, want %s", bytesText(n), bytesText(got), bytesText(want))
		}
	}
	for d, want := range map[time.Duration]time.Duration{10 * time.Second: 20 * time.Second, time.Minute: 2 * time.Minute, 500 * time.Second: mostTimeout, 0: time.Second} {
		if got := longer(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
	if coresOf("500m") != 500 || coresOf("2") != 2000 || coresOf("x") != 0 || secondsOf("60s") != time.Minute || secondsOf("0.5s") != 500*time.Millisecond || secondsOf("-") != 0 {
		t.Error("amounts are not read")
	}
}

// The messages are those of real calls.
func TestTheReasonIsTheTrueOne(t *testing.T) {
	refused := func(format string, args ...any) *a2e.Error {
		return a2e.Errorf(a2e.RuntimeError, format, args...).Because(a2e.ReasonUnsupported)
	}
	exit := func(stderr string) *a2e.Error {
		return a2e.Errorf(a2e.SkillError, "the skill exited with 1: m").Because(a2e.ReasonExit).With("stderr", stderr)
	}
	ran := func(choices ...control.Choice) *control.Ran { return usual(choices...) }
	used := func(pids int) control.Call {
		return control.Call{Skill: "tables", Usage: &control.Usage{PIDsPeak: pids}}
	}
	killed := control.Call{Skill: "tables", Notes: map[string]any{"oom_child": true}}
	pids := control.Choice{Field: "limits.pids", Value: "256", From: "skill"}
	for name, one := range map[string]struct {
		c     *cause
		title string   // has this
		write []string // has these
		none  string   // and not this, anywhere
	}{
		"a key that is not in the store": {&cause{fail: refused("model provider openai is not available: the store of secrets does not have it: hotcell's log says why")},
			"key of the skill's model provider", []string{"shell: hotcell secrets set NAME", "name: openai credential"}, "skill.yaml names a secret"},
		"a key that is none": {&cause{fail: refused("model provider openai is not available: stored:openai: expected a key: printable text without blanks, from 8 to 8192 bytes")},
			"key of the skill's model provider", []string{"shell: hotcell secrets set openai"}, "secrets:"},
		"a provider that is not there": {&cause{fail: refused("there is no model provider \"nowhere\": llm.providers of the configuration has openai, envy")},
			"not configured", []string{"- name: nowhere"}, ""},
		"a model that is not allowed": {&cause{fail: refused("provider openai may not be asked for model \"gpt-9\": llm.providers allows gpt-4o-mini")},
			"model that it may not use", []string{"skill.yaml: llm: model: gpt-4o-mini", "models: [gpt-9]"}, ""},
		"a provider that is for others": {&cause{fail: refused("model provider openai is not for skill tables: llm.providers of the configuration says which skills it is for; the operator can add custom:alice/tables to its skills there")},
			"may not use its model provider", []string{"skills: [\"custom:alice/tables\"]"}, ""},
		"a secret that a custom skill may not have": {&cause{call: control.Call{Skill: "tables"}, fail: refused("skill \"tables\": it may not have the secret SKILL_KEY: policy.secrets of the configuration says which skill gets which; the operator can add custom:alice/tables:SKILL_KEY there")},
			"may not have", []string{"secrets: [\"custom:alice/tables:SKILL_KEY\"]", "SKILL_KEY: \"env:SKILL_KEY\""}, ""},
		"a secret that can't be read": {&cause{fail: refused("skill \"tables\": it needs the secret KEY, which this host has but cannot read: hotcell's log says why")}, "can't be read", nil, ""},
		"a skill whose name has a word of a text": {&cause{call: control.Call{Skill: "secret-provider-reserves"}, fail: refused("skill \"secret-provider-reserves\": this engine can't bound processes")},
			"This host can't give", nil, ""},
		"a process that was killed": {&cause{call: killed, fail: a2e.Errorf(a2e.SkillError, "helper ended with -9"), ran: ran(control.Choice{Field: "limits.memory", Value: "64Mi", From: "skill"})},
			"ran out of memory", []string{"memory: 256Mi"}, "hotcell ended nothing"},
		"too many processes":       {&cause{call: used(255), fail: exit("BlockingIOError: [Errno 11] Resource temporarily unavailable"), ran: ran(pids)}, "more processes", []string{"pids: 512"}, ""},
		"a socket that waits":      {&cause{call: used(15), fail: exit("BlockingIOError: [Errno 11] Resource temporarily unavailable"), ran: ran(pids)}, "exit code", nil, "pids:"},
		"room within the memory":   {&cause{fail: exit("OSError: [Errno 28] No space left on device: '/workspace/x'"), ran: ran(control.Choice{Field: "limits.workspace", Value: "4Mi", From: "skill"})}, "room for its files", []string{"limits: workspace: 8Mi\n"}, "out:"},
		"room beyond the memory":   {&cause{fail: exit("No space left on device"), ran: ran(control.Choice{Field: "limits.memory", Value: "2Gi", From: "skill"}, control.Choice{Field: "limits.workspace", Value: "700Mi", From: "skill"})}, "room for its files", []string{"memory: 4Gi workspace: 1536Mi"}, ""},
		"many files":               {&cause{fail: exit("OSError: [Errno 24] Too many open files"), ran: ran(control.Choice{Field: "limits.files", Value: "2048", From: "skill"})}, "open files", []string{"files: 4096"}, ""},
		"no host asked for":        {&cause{fail: exit("Temporary failure in name resolution"), ran: ran()}, "wanted a network", []string{"skill.yaml: network:"}, ""},
		"a host without the proxy": {&cause{fail: exit("Temporary failure in name resolution"), ran: ran(control.Choice{Field: "network", Value: "api.example.org:443", From: "skill"})}, "without the proxy", nil, "skill.yaml: network"},
	} {
		e := explain(one.c)
		all := e.Title + "\n" + strings.Join(e.What, "\n") + "\n" + advised(e)
		if !strings.Contains(e.Title, one.title) || one.none != "" && strings.Contains(all, one.none) {
			t.Errorf("%s: %s", name, all)
		}
		for _, want := range one.write {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %q is missing in %s", name, want, all)
			}
		}
	}
}
