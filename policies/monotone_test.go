package policies_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/policies"
)

// drawPolicy draws amounts at and around the floors, the defaults and the maxima.
func drawPolicy(t *rapid.T, who string) policies.Policy {
	amount := func(name string, least, most int64) int64 {
		if rapid.Bool().Draw(t, who+" leaves "+name) {
			return 0
		}
		return rapid.Int64Range(least, most).Draw(t, who+" "+name)
	}
	size := func(name string, least, most policies.Bytes) policies.Bytes {
		return policies.Bytes(amount(name, int64(least), int64(most)))
	}
	return policies.Policy{
		Limits: policies.Limits{
			Memory:    size("memory", policies.MinMemory, 2*policies.MaxMemory),
			CPU:       policies.MilliCPU(amount("cpu", int64(policies.MinCPU), int64(2*policies.MaxCPU))),
			PIDs:      amount("pids", policies.MinPIDs, 2*policies.MaxPIDs),
			Files:     amount("files", policies.MinFiles, 2*policies.MaxFiles),
			Workspace: size("workspace", policies.MinWorkspace, 256*mi),
			Out:       size("out", policies.MinOut, 256*mi),
			Output:    size("output", policies.MinOutput, 2*policies.MaxOutput),
		},
		Timeout: time.Duration(amount("timeout", int64(time.Second), int64(1000*time.Second))),
		Writes:  rapid.Bool().Draw(t, who+" writes"),
	}
}

// values lists the amounts of a policy in a fixed order.
func values(l policies.Limits, timeout time.Duration) []int64 {
	return []int64{int64(l.Memory), int64(l.CPU), l.PIDs, l.Files, int64(l.Workspace), int64(l.Out), int64(l.Output), int64(timeout)}
}

func TestNarrowIsMonotone(t *testing.T) {
	host := values(policies.Limits{
		Memory: policies.MaxMemory, CPU: policies.MaxCPU, PIDs: policies.MaxPIDs, Files: policies.MaxFiles,
		Workspace: policies.MaxWorkspace, Out: policies.MaxOut, Output: policies.MaxOutput,
	}, policies.MaxTimeout)
	least := values(policies.Limits{
		Memory: policies.MinMemory, CPU: policies.MinCPU, PIDs: policies.MinPIDs, Files: policies.MinFiles,
		Workspace: policies.MinWorkspace, Out: policies.MinOut, Output: policies.MinOutput,
	}, policies.MinTimeout)
	rapid.Check(t, func(t *rapid.T) {
		operator, skill, call := drawPolicy(t, "operator"), drawPolicy(t, "skill"), drawPolicy(t, "call")
		without, err := policies.Narrow(operator, skill, policies.Policy{})
		if err != nil {
			t.Skip("the skill does not fit into its own memory")
		}
		if call.Timeout > without.Timeout {
			call.Timeout = without.Timeout
		}
		e, err := policies.Narrow(operator, skill, call)
		if err != nil {
			t.Fatalf("a call makes a valid policy invalid: %v", err)
		}
		got, before := values(e.Limits, e.Timeout), values(without.Limits, without.Timeout)
		op, own, asked := values(operator.Limits, operator.Timeout), values(skill.Limits, skill.Timeout), values(call.Limits, call.Timeout)
		for i, v := range got {
			if v < least[i] || v > host[i] || v > before[i] || op[i] != 0 && v > op[i] || own[i] != 0 && v > own[i] || asked[i] != 0 && v > asked[i] {
				t.Errorf("field %d is %d: floor %d, host %d, operator %d, skill %d, call %d, without the call %d",
					i, v, least[i], host[i], op[i], own[i], asked[i], before[i])
			}
		}
		if sum := e.Limits.Workspace + e.Limits.Out + policies.RunSize(e.Limits.Memory) + policies.ShmSize(e.Limits.Memory); sum > e.Limits.Memory/2 {
			t.Errorf("tmpfs take %s of %s", sum, e.Limits.Memory)
		}
		checkReport(t, e, skill, call)
	})
}

// checkReport demands a choice for each field, and a clamp for each stated wish that was not granted and for no other.
func checkReport(t *rapid.T, e policies.Effective, skill, call policies.Policy) {
	fields := []string{"limits.memory", "limits.cpu", "limits.pids", "limits.files", "limits.workspace", "limits.out", "limits.output", "timeout"}
	got := values(e.Limits, e.Timeout)
	clamped := map[string]bool{}
	for _, c := range e.Clamps {
		clamped[c.Field+" "+string(c.Asker)] = true
	}
	own, asked := values(skill.Limits, skill.Timeout), values(call.Limits, call.Timeout)
	for i, name := range fields {
		if e.Choices[i].Field != name {
			t.Errorf("choice %d is of %s, want %s", i, e.Choices[i].Field, name)
		}
		if asked[i] != 0 && (asked[i] > got[i]) != clamped[name+" call"] {
			t.Errorf("%s: the call asked %d and got %d, clamps %v", name, asked[i], got[i], e.Clamps)
		}
		if own[i] != 0 && asked[i] == 0 && (own[i] > got[i]) != clamped[name+" skill"] {
			t.Errorf("%s: the skill asked %d and got %d, clamps %v", name, own[i], got[i], e.Clamps)
		}
	}
}
