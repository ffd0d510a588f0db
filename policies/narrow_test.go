package policies_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/policies"
)

const mi = policies.Mi

func defaults() policies.Limits {
	return policies.Limits{
		Memory: 256 * mi, CPU: 1000, PIDs: 64, Files: 256, Workspace: 64 * mi, Out: 32 * mi, Output: 8 * mi,
	}
}

// with returns the defaults with a change.
func with(change func(*policies.Limits)) policies.Limits {
	l := defaults()
	change(&l)
	return l
}

func TestNarrowLimits(t *testing.T) {
	type limits = policies.Limits
	for _, tt := range []struct {
		name                  string
		operator, skill, call limits
		want                  limits
		clamps                []string
	}{
		{name: "nobody says", want: defaults()},
		{
			name:  "a skill may ask for more than the default",
			skill: limits{Memory: 1024 * mi, CPU: 4000, PIDs: 500, Files: 4096, Output: 16 * mi},
			want: with(func(l *limits) {
				l.Memory, l.CPU, l.PIDs, l.Files, l.Output = 1024*mi, 4000, 500, 4096, 16*mi
			}),
		},
		{
			name:     "the operator's limit is a maximum and no new default",
			operator: limits{Memory: 1024 * mi, PIDs: 32},
			want:     with(func(l *limits) { l.PIDs = 32 }),
		},
		{
			name:     "a skill is cut to the operator's maximum",
			operator: limits{Memory: 512 * mi},
			skill:    limits{Memory: 1024 * mi},
			want:     with(func(l *limits) { l.Memory = 512 * mi }),
			clamps:   []string{"limits.memory: the skill asks for 1Gi, the operator allows 512Mi"},
		},
		{
			name:     "an operator is cut to the host's maximum",
			operator: limits{PIDs: 1 << 40},
			skill:    limits{PIDs: 1 << 41},
			want:     with(func(l *limits) { l.PIDs = policies.MaxPIDs }),
			clamps: []string{
				"limits.pids: the operator asks for 1099511627776, the host allows 4096",
				"limits.pids: the skill asks for 2199023255552, the host allows 4096",
			},
		},
		{
			name:   "a call only takes away",
			skill:  limits{PIDs: 100},
			call:   limits{PIDs: 200, Files: 64, CPU: 2000},
			want:   with(func(l *limits) { l.PIDs, l.Files = 100, 64 }),
			clamps: []string{"limits.cpu: the call asks for 2, the default allows 1", "limits.pids: the call asks for 200, the skill allows 100"},
		},
		{
			name:  "unset sizes scale with the memory",
			skill: limits{Memory: 64 * mi},
			want:  with(func(l *limits) { l.Memory, l.Workspace, l.Out = 64*mi, 16*mi, 8*mi }),
		},
		{
			name:  "an unset size takes what a stated one leaves",
			skill: limits{Workspace: 90 * mi},
			want:  with(func(l *limits) { l.Workspace, l.Out = 90*mi, 14*mi }),
		},
		{
			name:  "an unset workspace takes what a stated out leaves",
			skill: limits{Out: 100 * mi},
			want:  with(func(l *limits) { l.Workspace, l.Out = 4*mi, 100*mi }),
		},
		{
			name:     "stated sizes are cut when the operator cuts the memory",
			operator: limits{Memory: 64 * mi},
			skill:    limits{Memory: 1024 * mi, Workspace: 200 * mi, Out: 8 * mi},
			want:     with(func(l *limits) { l.Memory, l.Workspace, l.Out = 64*mi, 18*mi, 8*mi }),
			clamps: []string{
				"limits.memory: the skill asks for 1Gi, the operator allows 64Mi",
				"limits.workspace: the skill asks for 200Mi, limits.memory has room for 18Mi",
			},
		},
		{
			name:     "two large sizes share evenly",
			operator: limits{Memory: 64 * mi, Workspace: 100 * mi},
			skill:    limits{Memory: 1024 * mi, Workspace: 200 * mi, Out: 100 * mi},
			want:     with(func(l *limits) { l.Memory, l.Workspace, l.Out = 64*mi, 13*mi, 13*mi }),
			clamps: []string{
				"limits.memory: the skill asks for 1Gi, the operator allows 64Mi",
				"limits.workspace: the skill asks for 200Mi, limits.memory has room for 13Mi",
				"limits.out: the skill asks for 100Mi, limits.memory has room for 13Mi",
			},
		},
		{
			name: "a call's memory shrinks the sizes",
			call: limits{Memory: 32 * mi},
			want: with(func(l *limits) { l.Memory, l.Workspace, l.Out = 32*mi, 8*mi, 4*mi }),
		},
		{
			name:  "a call's memory cuts stated sizes, the call's own too",
			skill: limits{Workspace: 60 * mi, Out: 40 * mi},
			call:  limits{Memory: 32 * mi, Out: 30 * mi},
			want:  with(func(l *limits) { l.Memory, l.Workspace, l.Out = 32*mi, 6656*policies.Ki, 6656*policies.Ki }),
			clamps: []string{
				"limits.workspace: the skill asks for 60Mi, limits.memory has room for 6656Ki",
				"limits.out: the call asks for 30Mi, limits.memory has room for 6656Ki",
			},
		},
		{
			name:   "who asked is who is cut, whatever the skill says",
			call:   limits{Memory: 32 * mi, Workspace: 100 * mi},
			want:   with(func(l *limits) { l.Memory, l.Workspace, l.Out = 32*mi, 12*mi, 1*mi }),
			clamps: []string{"limits.workspace: the call asks for 100Mi, limits.memory has room for 12Mi"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := policies.Narrow(
				policies.Policy{Limits: tt.operator}, policies.Policy{Limits: tt.skill}, policies.Policy{Limits: tt.call})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Limits); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			var clamps []string
			for _, c := range got.Clamps {
				clamps = append(clamps, c.String())
			}
			if diff := cmp.Diff(tt.clamps, clamps); diff != "" {
				t.Errorf("clamps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNarrowTimeout(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name                  string
		operator, skill, call time.Duration
		want                  time.Duration
		from                  policies.Party
		clamps                int
	}{
		{"nobody says", 0, 0, 0, 60 * s, policies.Default, 0},
		{"the skill's", 0, 120 * s, 0, 120 * s, policies.Skill, 0},
		{"the skill's above the host's", 0, 900 * s, 0, 600 * s, policies.Host, 1},
		{"the call's is shorter", 0, 120 * s, 60 * s, 60 * s, policies.Caller, 0},
		{"the call's is longer than the skill's", 0, 30 * s, 60 * s, 30 * s, policies.Skill, 1},
		{"the call's may be longer than the default", 0, 0, 300 * s, 300 * s, policies.Caller, 0},
		{"the call's above the host's", 0, 0, 9999 * s, 600 * s, policies.Host, 1},
		{"the operator's below the default", 10 * s, 0, 0, 10 * s, policies.Operator, 0},
		{"the operator's cuts the call's", 10 * s, 0, 60 * s, 10 * s, policies.Operator, 1},
		{"the operator's is cut as well", 9999 * s, 900 * s, 700 * s, 600 * s, policies.Host, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := policies.Narrow(
				policies.Policy{Timeout: tt.operator}, policies.Policy{Timeout: tt.skill}, policies.Policy{Timeout: tt.call})
			if err != nil {
				t.Fatal(err)
			}
			if got.Timeout != tt.want || choice(t, got, "timeout").From != tt.from || len(got.Clamps) != tt.clamps {
				t.Errorf("timeout %s from %s with %d clamps, want %s from %s with %d",
					got.Timeout, choice(t, got, "timeout").From, len(got.Clamps), tt.want, tt.from, tt.clamps)
			}
		})
	}
}

func TestNarrowRefuses(t *testing.T) {
	type limits = policies.Limits
	for _, tt := range []struct {
		name                  string
		operator, skill, call policies.Policy
		want                  policies.FieldError
	}{
		{
			name:  "a skill below the floor",
			skill: policies.Policy{Limits: limits{Memory: mi}},
			want:  policies.FieldError{Field: "limits.memory", Party: policies.Skill, Problem: "1Mi is too little, expected at least 16Mi"},
		},
		{
			name:     "an operator below the floor",
			operator: policies.Policy{Limits: limits{PIDs: 5}},
			want:     policies.FieldError{Field: "limits.pids", Party: policies.Operator, Problem: "5 is too little, expected at least 16"},
		},
		{
			name: "a negative call",
			call: policies.Policy{Timeout: -time.Second},
			want: policies.FieldError{Field: "timeout", Party: policies.Caller, Problem: "-1s is too little, expected at least 0.001s"},
		},
		{
			name:  "one millicore where one core was meant",
			skill: policies.Policy{Limits: limits{CPU: 1}},
			want:  policies.FieldError{Field: "limits.cpu", Party: policies.Skill, Problem: "1m is too little, expected at least 10m"},
		},
		{
			name:  "a workspace larger than the default memory allows",
			skill: policies.Policy{Limits: limits{Workspace: 200 * mi}},
			want: policies.FieldError{Field: "limits.workspace", Party: policies.Skill,
				Problem: "200Mi does not fit into limits.memory 256Mi, the default, expected at most 103Mi: ask for less, or for more memory"},
		},
		{
			name:  "an out larger than the skill's memory allows, even where the operator would cut it",
			skill: policies.Policy{Limits: limits{Memory: 64 * mi, Out: 30 * mi}},
			want: policies.FieldError{Field: "limits.out", Party: policies.Skill,
				Problem: "30Mi does not fit into limits.memory 64Mi, expected at most 25Mi: ask for less, or for more memory"},
			operator: policies.Policy{Limits: limits{Out: 2 * mi}},
		},
		{
			name:  "both together, with a sum that overflows",
			skill: policies.Policy{Limits: limits{Workspace: 1 << 62, Out: 1 << 62}},
			want: policies.FieldError{Field: "limits.workspace", Party: policies.Skill,
				Problem: "4096Pi and limits.out 4096Pi do not fit into limits.memory 256Mi, the default, expected at most 104Mi together: ask for less, or for more memory"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := policies.Narrow(tt.operator, tt.skill, tt.call)
			var got *policies.FieldError
			if !errors.As(err, &got) {
				t.Fatalf("error %v, want a FieldError", err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(err.Error(), got.Field+" ("+string(got.Party)+"): ") {
				t.Errorf("text %q names neither field nor party", err)
			}
		})
	}
}

func TestCheckFindsAll(t *testing.T) {
	wrong := policies.Policy{Limits: policies.Limits{Memory: 10, PIDs: 3, Workspace: 5 * mi}, Timeout: -1}
	var got []string
	for _, e := range policies.Check(policies.Skill, wrong) {
		got = append(got, e.Error())
	}
	want := []string{
		"limits.memory (skill): 10 is too little, expected at least 16Mi",
		"limits.pids (skill): 3 is too little, expected at least 16",
		"timeout (skill): -0.000000001s is too little, expected at least 0.001s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sizes := policies.Policy{Limits: policies.Limits{Memory: 64 * mi, Out: 60 * mi}}
	if got := policies.Check(policies.Operator, sizes); got != nil {
		t.Errorf("an operator's limits are maxima and need not fit together: %v", got)
	}
	if got := policies.Check(policies.Skill, sizes); len(got) != 1 || got[0].Field != "limits.out" {
		t.Errorf("a skill's sizes: %v", got)
	}
}

func TestDerivedSizesAreFromTheMemory(t *testing.T) {
	e, err := policies.Narrow(policies.Policy{}, policies.Policy{Limits: policies.Limits{Memory: 64 * mi}}, policies.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]policies.Party{
		"limits.memory": policies.Skill, "limits.workspace": policies.Memory, "limits.out": policies.Memory, "limits.cpu": policies.Default,
	} {
		if got := choice(t, e, field).From; got != want {
			t.Errorf("%s is from %s, want %s", field, got, want)
		}
	}
}

func TestNarrowOthers(t *testing.T) {
	operator := policies.Policy{Runtime: "runsc", Network: policies.Network{Allow: []string{"a:1"}}, Writes: true}
	skill := policies.Policy{Runtime: "runc", Network: policies.Network{Allow: []string{"b:1", "a:1"}}}
	call := policies.Policy{Runtime: "runsc", Network: policies.Network{Allow: []string{"b:1"}}, Writes: true}

	got, err := policies.Narrow(operator, policies.Policy{}, policies.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Runtime != "runsc" || len(got.Network.Allow) != 0 || got.Writes || len(got.Clamps) != 0 {
		t.Errorf("an operator alone: runtime %q, network %v, writes %v, clamps %v", got.Runtime, got.Network, got.Writes, got.Clamps)
	}

	got, err = policies.Narrow(operator, skill, call)
	if err != nil {
		t.Fatal(err)
	}
	want := policies.Effective{
		Runtime: "runsc",
		Clamps: []policies.Clamp{
			{Field: "network", By: policies.Operator, Asker: policies.Skill, Asked: "a:1 b:1", Granted: "a:1"},
			{Field: "network", By: policies.Skill, Asker: policies.Caller, Asked: "b:1", Granted: "none"},
			{Field: "runtime", By: policies.Operator, Asker: policies.Skill, Asked: "runc", Granted: "runsc"},
			{Field: "writes", By: policies.Skill, Asker: policies.Caller, Asked: "true", Granted: "false"},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(policies.Effective{}, "Limits", "Timeout", "Choices")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	got, err = policies.Narrow(policies.Policy{}, policies.Policy{Runtime: "runc", Writes: true}, policies.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Runtime != "" || !got.Writes || len(got.Clamps) != 1 {
		t.Errorf("a skill that names a runtime: runtime %q, writes %v, clamps %v", got.Runtime, got.Writes, got.Clamps)
	}
}

func TestExplain(t *testing.T) {
	e, err := policies.Narrow(
		policies.Policy{Limits: policies.Limits{Memory: 64 * mi, CPU: 500}},
		policies.Policy{
			Limits:  policies.Limits{Memory: 1024 * mi, Workspace: 200 * mi, PIDs: 128},
			Runtime: "x\x1b[31m\n", Writes: true,
			Network: policies.Network{Allow: []string{"api.example.org:443"}},
			LLM:     &policies.LLM{Model: "small", Inject: policies.InjectFile}, Secrets: []string{"B", "A"},
		},
		policies.Policy{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := e.Explain(&b); err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, "testdata/explain.txt", []byte(b.String()))
	if err := e.Explain(brokenPipe{}); err == nil {
		t.Error("a writer's error is lost")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func choice(t *testing.T, e policies.Effective, field string) policies.Choice {
	t.Helper()
	for _, c := range e.Choices {
		if c.Field == field {
			return c
		}
	}
	t.Fatalf("no choice for %s in %v", field, e.Choices)
	return policies.Choice{}
}
