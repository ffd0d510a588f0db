package compile

import "slices"

// denied lists the system calls that no cell gets, whatever the default profile of some version says: they reach the
// kernel's less trodden paths, other processes or the host, and no skill needs them.
func denied() []string {
	return slices.Concat(
		// Other processes, the runner first: it has the skill's uid.
		[]string{"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_getfd", "kcmp"},
		// Large interfaces with a history.
		[]string{"io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "modify_ldt"},
		// Keys are not bound to a namespace.
		[]string{"keyctl", "add_key", "request_key"},
		// Mounts, and files by handle, which reach beyond them.
		[]string{
			"mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "open_tree_attr", "pivot_root", "chroot",
			"fsopen", "fsconfig", "fsmount", "fspick", "listmount", "statmount", "name_to_handle_at", "open_by_handle_at",
			"quotactl", "quotactl_fd", "fanotify_init", "fanotify_mark",
		},
		// New namespaces; clone is restricted to none.
		[]string{"unshare", "setns"},
		// The machine.
		[]string{
			"kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "sethostname", "setdomainname", "syslog", "acct",
			"init_module", "finit_module", "delete_module", "iopl", "ioperm", "vhangup", "lookup_dcookie",
			"settimeofday", "stime", "clock_settime", "clock_settime64",
		},
		// Message queues, which count over all cells of a kernel.
		[]string{
			"mq_open", "mq_unlink", "mq_notify", "mq_getsetattr", "mq_timedsend", "mq_timedsend_time64",
			"mq_timedreceive", "mq_timedreceive_time64", "msgget", "msgctl", "msgsnd", "msgrcv",
		},
		// Asynchronous I/O by the kernel, of which all users together have one quota, and the queue to all disks.
		[]string{"io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents", "sync", "syncfs"},
		// Several calls behind one number, with their arguments out of a filter's sight.
		[]string{"socketcall", "ipc"},
	)
}
