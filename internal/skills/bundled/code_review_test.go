package bundled_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/testutil"
)

// issues renders a result's issues as "line:column severity rule".
func issues(t *testing.T, o outcome) []string {
	t.Helper()
	out := []string{}
	data, _ := o.result.Data.(map[string]any)
	list, ok := data["issues"].([]any)
	if !ok {
		t.Fatalf("no issues in %+v", o.result)
	}
	for _, it := range list {
		m, _ := it.(map[string]any)
		out = append(out, fmt.Sprintf("%v:%v %v %v", m["line"], m["column"], m["severity"], m["rule"]))
	}
	return out
}

func TestCodeReviewRules(t *testing.T) {
	testutil.Require(t, "python3")
	long := "def f():\n" + strings.Repeat("    x = 1\n", 50)
	for name, tt := range map[string]struct {
		code string
		want []string
	}{
		"empty":                {"", nil},
		"protocol example":     {"def add(a, b): return a + b", nil},
		"unused import":        {"import os\n", []string{"1:8 warning unused-import"}},
		"used import":          {"import os\nprint(os.name)\n", nil},
		"several on a line":    {"import os, sys, re\nre.compile('x')\n", []string{"1:8 warning unused-import", "1:12 warning unused-import"}},
		"from import":          {"from os import path, sep as s\nprint(path)\n", []string{"1:22 warning unused-import"}},
		"dotted import used":   {"import os.path\nos.path.join('a')\n", nil},
		"dotted import unused": {"import os.path\n", []string{"1:8 warning unused-import"}},
		"alias used":           {"import numpy as np\nnp.zeros(1)\n", nil},
		"alias unused":         {"import numpy as np\nnumpy = 1\n", []string{"1:8 warning unused-import"}},
		"future":               {"from __future__ import annotations\n", nil},
		"star":                 {"from os import *\n", nil},
		"passed on":            {"import os as os\nfrom a import b as b\n", nil},
		"all":                  {"from a import b, c\n__all__ = ['b'] + ['c']\n", nil},
		"noqa":                 {"import readline  # noqa: F401\n", nil},
		"try import":           {"try:\n    import json\nexcept ImportError:\n    import simplejson as json\n", nil},
		"try other":            {"try:\n    import json\nexcept ValueError:\n    pass\n", []string{"2:12 warning unused-import"}},
		"quoted annotation":    {"from a import B, C, D\ndef f(x: 'B') -> \"list[C]\":\n    y: 'D' = x\n    return y\n", nil},
		"cast":                 {"from typing import cast\nfrom a import B\nx = cast('B', 1)\n", nil},
		"in a function":        {"def f():\n    import os\n", []string{"2:12 warning unused-import"}},
		"bare except":          {"try:\n    f()\nexcept:\n    pass\n", []string{"3:1 warning bare-except"}},
		"named except":         {"try:\n    f()\nexcept Exception:\n    pass\n", nil},
		"mutable defaults":     {"def f(a=[], *, b={}, c=set(), d=(), e=None):\n    pass\n", []string{"1:9 warning mutable-default", "1:18 warning mutable-default", "1:24 warning mutable-default"}},
		"mutable in lambda":    {"f = lambda x=[]: x\n", []string{"1:14 warning mutable-default"}},
		"eval and exec":        {"eval('1')\nexec('1')\n", []string{"1:1 error eval-exec", "2:1 error eval-exec"}},
		"builtins.eval":        {"import builtins\nbuiltins.eval('1')\n", []string{"2:1 error eval-exec"}},
		"method eval":          {"model.eval()\n", nil},
		"shadowed":             {"list = 1\ndef id(): pass\ndef g(type): pass\nfor max in []: pass\n", []string{"1:1 info shadowed-builtin", "2:1 info shadowed-builtin", "3:7 info shadowed-builtin", "4:5 info shadowed-builtin"}},
		"shadowed once":        {"list = 1\nlist = 2\n", []string{"1:1 info shadowed-builtin"}},
		"attributes are free":  {"class A:\n    id = 1\n    def list(self): pass\n", nil},
		"shadowing import":     {"from a import open\nopen()\n", []string{"1:1 info shadowed-builtin"}},
		"fifty lines":          {strings.TrimSuffix(long, "    x = 1\n"), nil},
		"fifty-one lines":      {long, []string{"1:1 info long-function"}},
		"syntax error":         {"x = 1\ndef f(:\n", []string{"2:7 error syntax-error"}},
		"indentation":          {"if 1:\n\tx = 1\n        y = 2\n", []string{"3:1 error syntax-error"}},
		"nul":                  {"a\x00b", []string{"1:1 error syntax-error"}},
		"windows":              {"\uFEFFimport os\r\n\r\neval('1')\r\n", []string{"1:8 warning unused-import", "3:1 error eval-exec"}},
		"form feed":            {"x = 1\f\neval('1')\n", []string{"2:1 error eval-exec"}},
		"columns in letters":   {"é = 'ééé'; eval(é)\n", []string{"1:12 error eval-exec"}},
		"tabs":                 {"if 1:\n\teval('1')\n", []string{"2:2 error eval-exec"}},
		"bad escape is silent": {"x = '\\d'\n", nil},
		"match":                {"match x:\n    case [*list]: pass\n    case {'a': id}: pass\n", []string{"2:11 info shadowed-builtin", "3:16 info shadowed-builtin"}},
		"sorted by line":       {"try:\n    eval('1')\nexcept:\n    import os\n", []string{"2:5 error eval-exec", "3:1 warning bare-except"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, "code-review", map[string]any{"code": tt.code}, "")
			want := append([]string{}, tt.want...)
			if diff := cmp.Diff(want, issues(t, o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			summary := fmt.Sprintf("%d issues found", len(want))
			switch len(want) {
			case 0:
				summary = "No issues found"
			case 1:
				summary = "1 issue found"
			}
			if o.result.Summary != summary {
				t.Errorf("summary %q", o.result.Summary)
			}
			if !strings.HasPrefix(o.report, "# Code review\n\n"+summary+".\n") || strings.Count(o.report, "\n| ") != len(want)+min(len(want), 1) {
				t.Errorf("report:\n%s", o.report)
			}
			if count(o.events, "log") == 0 || count(o.events, "progress") < 3 {
				t.Errorf("events: %+v", o.events)
			}
		})
	}
}

func TestCodeReviewTooDeep(t *testing.T) {
	testutil.Require(t, "python3")
	for name, code := range map[string]string{
		"minus":  strings.Repeat("-", 100_000) + "1",
		"sum":    "1" + strings.Repeat("+1", 100_000),
		"lambda": strings.Repeat("lambda:", 50_000) + "1",
		"elif":   "if 1:\n pass\n" + strings.Repeat("elif 1:\n pass\n", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, "code-review", map[string]any{"code": code}, "")
			if o.result.Success || o.result.ErrorCode != "too_deep" || o.result.Retryable == nil || *o.result.Retryable {
				t.Errorf("got %+v", o.result)
			}
		})
	}
}

func TestCodeReviewBadRequest(t *testing.T) {
	testutil.Require(t, "python3")
	for name, request := range map[string]string{
		"no code": `{"arguments":{}}`, "number": `{"arguments":{"code":1}}`, "list": `[]`, "text": `hello`, "nothing": ``,
	} {
		t.Run(name, func(t *testing.T) {
			frames := execute(t, "code-review", []byte(request+"\n"))
			if len(frames) != 1 || frames[0].Success || frames[0].ErrorCode != "bad_request" || frames[0].Error == "" {
				t.Errorf("got %+v", frames)
			}
		})
	}
}

func TestCodeReviewListsBounded(t *testing.T) {
	testutil.Require(t, "python3")
	o := run(t, "code-review", map[string]any{"code": strings.Repeat("eval('1')\n", 6000)}, "")
	data, _ := o.result.Data.(map[string]any)
	if got := len(issues(t, o)); got != 5000 || fmt.Sprint(data["omitted"]) != "1000" || o.result.Summary != "6000 issues found" {
		t.Errorf("%d issues, %v omitted, %q", got, data["omitted"], o.result.Summary)
	}
}

// Progress has to come while the work is done: at least five events, at different times, before the result.
func TestCodeReviewStreams(t *testing.T) {
	testutil.Require(t, "python3")
	var code strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&code, "def f%d(a, b=[]):\n    try:\n        return a.x[b] + eval(a)\n    except:\n        return {k: v for k, v in a}\n", i)
	}
	o := run(t, "code-review", map[string]any{"code": code.String()}, "")
	apart, last := 0, time.Time{}
	for _, f := range o.events {
		if f.Kind == "progress" && f.at.Sub(last) > time.Millisecond {
			apart, last = apart+1, f.at
		}
	}
	if apart < 5 {
		t.Errorf("only %d progress events at different times", apart)
	}
}

func TestCodeReviewOfTwoThousandLines(t *testing.T) {
	testutil.Require(t, "python3")
	code := strings.Repeat("def f(a):\n    return a\n", 1000)
	o := run(t, "code-review", map[string]any{"code": code}, "")
	if n := count(o.events, "progress"); n < 10 {
		t.Errorf("%d progress events", n)
	}
}
