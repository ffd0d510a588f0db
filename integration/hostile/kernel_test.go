package hostile

import "testing"

func kernelRows() []row {
	const seccomp = "the seccomp profile"
	return []row{
		{name: "syscalls", what: "makes each system call that no cell has", stops: seccomp, args: []string{"syscalls"}, check: held(60)},
		{name: "namespaces", what: "makes and enters namespaces", stops: seccomp, args: []string{"namespaces"}, check: held(38)},
		{name: "sockets", what: "opens sockets of every family and protocol", stops: seccomp, args: []string{"sockets"}, check: held(250)},
		{name: "foreign-calls", what: "makes 32-bit and x32 system calls", stops: seccomp + ", for one calling convention", args: []string{"foreign-calls"}, check: held(1)},
		{name: "debug", what: "traces and reads a process of its own", stops: seccomp, args: []string{"debug"}, check: held(6)},
	}
}

func TestKernel(t *testing.T) { runRows(t, kernelRows()) }
