package main

import "golang.org/x/sys/unix"

// compatGetpid asks for its own pid by the 32-bit calling convention. It returns less than 0 where that is refused.
func compatGetpid() int32

// machineOf are the calls that this architecture alone has.
func machineOf() tries {
	return tries{
		"kexec_file_load": plain(unix.SYS_KEXEC_FILE_LOAD, 0, 0, 0, 0, 0),
		"iopl":            plain(unix.SYS_IOPL, 3),
		"ioperm":          plain(unix.SYS_IOPERM, 0, 8, 1),
		"modify_ldt":      plain(unix.SYS_MODIFY_LDT, 0, pointer(&[64]byte{}), 64),
		"_sysctl":         plain(unix.SYS__SYSCTL, 0),
		"uselib":          plain(unix.SYS_USELIB, text("/workspace/none")),
		"create_module":   plain(unix.SYS_CREATE_MODULE, 0, 0),
		"nfsservctl":      plain(unix.SYS_NFSSERVCTL, 0, 0, 0),
	}
}
