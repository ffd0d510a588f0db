package policies

import (
	"strconv"
	"time"
)

// field is one amount of a policy, so that all are narrowed by the same code. Values are int64 in the field's own unit;
// 0 is unset.
type field struct {
	name          string
	of            func(*Policy) *int64
	def, min, max int64
	format        func(int64) string
}

// The names of the fields, as reports have them. Those that are exported are what a call may use outside of its cell.
const (
	fieldMemory    = "limits.memory"
	fieldWorkspace = "limits.workspace"
	fieldOut       = "limits.out"
	fieldTimeout   = "timeout"
	FieldNetwork   = "network"
	fieldLLM       = "llm"
	FieldInject    = "llm.inject"
	fieldSecrets   = "secrets"
	fieldRuntime   = "runtime"
	fieldWrites    = "writes"
)

// limitFields lists the limits in the order of reports, memory first.
func limitFields() []field {
	return []field{
		bytesField(fieldMemory, func(p *Policy) *Bytes { return &p.Limits.Memory }, DefaultMemory, MinMemory, MaxMemory),
		{"limits.cpu", func(p *Policy) *int64 { return (*int64)(&p.Limits.CPU) }, int64(DefaultCPU), int64(MinCPU), int64(MaxCPU),
			func(n int64) string { return MilliCPU(n).String() }},
		{"limits.pids", func(p *Policy) *int64 { return &p.Limits.PIDs }, DefaultPIDs, MinPIDs, MaxPIDs, formatCount},
		{"limits.files", func(p *Policy) *int64 { return &p.Limits.Files }, DefaultFiles, MinFiles, MaxFiles, formatCount},
		workspaceField(),
		outField(),
		bytesField("limits.output", func(p *Policy) *Bytes { return &p.Limits.Output }, DefaultOutput, MinOutput, MaxOutput),
	}
}

func workspaceField() field {
	return bytesField(fieldWorkspace, func(p *Policy) *Bytes { return &p.Limits.Workspace }, DefaultWorkspace, MinWorkspace, MaxWorkspace)
}

func outField() field {
	return bytesField(fieldOut, func(p *Policy) *Bytes { return &p.Limits.Out }, DefaultOut, MinOut, MaxOut)
}

func timeoutField() field {
	return field{
		fieldTimeout, func(p *Policy) *int64 { return (*int64)(&p.Timeout) },
		int64(DefaultTimeout), int64(MinTimeout), int64(MaxTimeout),
		func(n int64) string { return strconv.FormatFloat(time.Duration(n).Seconds(), 'f', -1, 64) + "s" },
	}
}

func bytesField(name string, of func(*Policy) *Bytes, def, least, most Bytes) field {
	return field{
		name, func(p *Policy) *int64 { return (*int64)(of(p)) }, int64(def), int64(least), int64(most),
		func(n int64) string { return Bytes(n).String() },
	}
}

func formatCount(n int64) string { return strconv.FormatInt(n, 10) }
