package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func procfsCommands() []command {
	return []command{
		{"write-system", func([]string) { writeSystem() }},
		{"read-system", func([]string) { readSystem() }},
		{"devices", func([]string) { devices() }},
	}
}

// writeSystem opens every file below /proc and /sys for writing that is not a process's own, and writes to those that would
// hurt most.
func writeSystem() {
	r := newReport()
	for path, value := range map[string]string{
		"/proc/sysrq-trigger":                                   "h", // help, if it got through
		"/proc/sys/kernel/core_pattern":                         "core",
		"/proc/sys/kernel/modprobe":                             "/workspace/x",
		"/proc/sys/kernel/hostname":                             "host",
		"/proc/sys/kernel/sysrq":                                "0",
		"/proc/sys/kernel/ns_last_pid":                          "1",
		"/proc/sys/vm/panic_on_oom":                             "0",
		"/proc/sys/vm/overcommit_memory":                        "0",
		"/proc/sys/vm/drop_caches":                              "1",
		"/proc/sys/fs/binfmt_misc/register":                     ":x:",
		"/proc/sys/net/ipv4/ip_forward":                         "1",
		"/proc/self/oom_score_adj":                              "-1000",
		"/proc/self/oom_adj":                                    "-17",
		"/proc/1/oom_score_adj":                                 "1000",
		"/proc/self/attr/current":                               "unconfined",
		"/proc/self/timens_offsets":                             "monotonic 1 0",
		"/proc/irq/default_smp_affinity":                        "1",
		"/sys/kernel/mm/transparent_hugepage/enabled":           "never",
		"/sys/power/state":                                      "mem",
		"/sys/module/kernel/parameters/panic":                   "1",
		"/sys/kernel/uevent_helper":                             "/workspace/x",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes":           "-1",
		"/sys/fs/cgroup/memory/release_agent":                   "/workspace/x",
		"/sys/fs/cgroup/memory/cgroup.procs":                    "0",
		"/sys/fs/cgroup/devices/devices.allow":                  "a",
		"/sys/fs/cgroup/pids/pids.max":                          "max",
		"/sys/fs/cgroup/cgroup.procs":                           "0",
		"/sys/fs/cgroup/memory.max":                             "max",
		"/sys/fs/cgroup/cgroup.subtree_control":                 "+memory",
		"/sys/fs/cgroup/memory/memory.oom_control":              "1",
		"/sys/fs/cgroup/memory/memory.move_charge_at_immigrate": "1",
	} {
		r.refused(path, overwrite(path, value))
	}
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"} {
		r.refused("mkdir-"+dir, unix.Mkdir(dir+"/cell", 0o755))
	}
	for _, root := range []string{"/proc", "/sys"} {
		files, opened := openAll(root)
		r.holds("open-"+root, files > 20 && len(opened) == 0, "%d files, opened %q", files, opened)
	}
	r.send()
}

// openAll opens every regular file below root for writing, but those of processes, and returns those that could be opened.
func openAll(root string) (files int, opened []string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if d.IsDir() {
			if _, err := strconv.Atoi(d.Name()); err == nil && filepath.Dir(path) == "/proc" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		files++
		if fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
			var st unix.Stat_t
			if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG { // what is masked is /dev/null
				opened = append(opened, path)
			}
			_ = unix.Close(fd)
		}
		return nil
	})
	return files, opened
}

// readSystem reads what tells of the kernel's memory, of keys and of other processes. Nothing may come out.
func readSystem() {
	r := newReport()
	for _, path := range []string{
		"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats", "/proc/timer_stats", "/proc/kmsg",
		"/proc/interrupts", "/proc/kpagecount", "/proc/kpageflags", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/acpi", "/proc/scsi",
		"/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf", "/sys/fs/pstore",
		"/sys/devices/virtual/powercap", "/dev/mem", "/dev/kmsg", "/dev/port",
	} {
		n, err := read(path)
		r.holds(path, n == 0, "%d bytes, %v", n, err)
	}
	r.holds("/proc/kallsyms", zeroAddresses("/proc/kallsyms"), "its addresses")
	r.holds("/proc/iomem", zeroAddresses("/proc/iomem"), "its addresses")
	_, err := read("/proc/self/pagemap")
	r.Tried["/proc/self/pagemap"] = fmt.Sprint(err) // one's own, without the places in physical memory
	r.holds("pagemap", !framesShow(), "physical places")
	r.send()
}

// read is how many bytes come out of a file, or how many names out of a folder.
func read(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		names, err := f.Readdirnames(-1)
		return len(names), err
	}
	b := make([]byte, 4096)
	n, err := f.Read(b)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// zeroAddresses reports whether each line starts with zeroes, or nothing can be read.
func zeroAddresses(path string) bool {
	b, err := os.ReadFile(path)
	if err != nil {
		return true
	}
	for line := range bytes.Lines(b) {
		if strings.Trim(strings.Fields(string(line))[0], "0-") != "" {
			return false
		}
	}
	return true
}

// framesShow reports whether the map of one's own pages tells where they are in the machine's memory.
func framesShow() bool {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return false
	}
	defer f.Close()
	page := make([]byte, 4096)
	touch(page)
	entry := make([]byte, 8)
	if _, err := f.ReadAt(entry, int64(pointer(&page[0])/4096*8)); err != nil {
		return false
	}
	return entry[0] != 0 || entry[1] != 0 || entry[2] != 0 || entry[3] != 0
}

// devices looks at what is in /dev, and for what must not be there.
func devices() {
	r := newReport()
	allowed := map[string]bool{}
	for _, name := range strings.Fields("fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero core") {
		allowed[name] = true
	}
	entries, err := os.ReadDir("/dev")
	must(err)
	for _, e := range entries {
		r.holds("/dev/"+e.Name(), allowed[e.Name()], "%v", e.Type())
	}
	for _, name := range strings.Fields("mem kmem port kmsg fuse kvm net/tun loop-control loop0 vda sda nvme0n1 mapper/control vhost-net vsock userfaultfd hpet rtc0 uinput console snapshot") {
		for _, mode := range []int{unix.O_RDONLY, unix.O_RDWR} {
			_, err := unix.Open("/dev/"+name, mode|unix.O_NONBLOCK, 0)
			r.refused(fmt.Sprintf("open-%s-%d", name, mode), err)
		}
	}
	for _, path := range []string{"/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/systemd", "/run/hotcell.sock"} {
		_, err := os.Lstat(path)
		r.refused(path, err)
	}
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/urandom"} {
		_, err := unix.Open(path, unix.O_RDWR, 0)
		r.works("use-"+path, err)
	}
	r.refused("make-device", unix.Mknod("/dev/mine", unix.S_IFCHR|0o600, 1<<8|1))
	r.refused("console", call(unix.SYS_IOCTL, 0, unix.TIOCSTI, text("x")))
	r.send()
}
