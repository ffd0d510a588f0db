"""Runs in a cell under the compiled seccomp profile. Prints one line for each thing that is not as it should be."""
import asyncio, ctypes, errno, json, mmap, multiprocessing, os, platform, resource, signal, socket, subprocess, sys, tempfile, threading

libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
GVISOR = "gvisor" in platform.release()
CLONE = 56 if X86 else 220
# name: (number on x86-64, number on arm64); None where the architecture has no such call
DENIED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "pidfd_getfd": (438, 438), "kcmp": (312, 272),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "modify_ldt": (154, None),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "mount": (165, 40), "umount2": (166, 39), "mount_setattr": (442, 442), "move_mount": (429, 429), "open_tree": (428, 428),
    "pivot_root": (155, 41), "chroot": (161, 51), "fsopen": (430, 430), "fsmount": (432, 432), "fspick": (433, 433),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    "unshare": (272, 97), "setns": (308, 268),
    "kexec_load": (246, 104), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116), "acct": (163, 89),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "iopl": (172, None), "ioperm": (173, None),
    "settimeofday": (164, 170), "clock_settime": (227, 112),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
}
bad = []


def check(what, ok):
    if not ok:
        bad.append(what)


def call(number, *args):
    """Returns the errno of a raw system call, 0 when it succeeds."""
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    if number == CLONE and result == 0:
        os._exit(0)  # the child that should not be
    return ctypes.get_errno() if result == -1 else 0


def refused(family, kind=socket.SOCK_DGRAM, protocol=0):
    try:
        socket.socket(family, kind, protocol).close()
    except OSError as e:
        return e.errno == errno.EPERM
    return False


def closed(number_32bit):
    """Makes a 32-bit call in a child and reports whether the kernel ended the child, or, as gVisor does, refused the call."""
    pid = os.fork()
    if pid == 0:
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(b"\xb8" + number_32bit.to_bytes(4, "little") + b"\xcd\x80\xc3")
        got = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
        os._exit(3 if GVISOR and got < 0 else 0)
    _, status = os.waitpid(pid, 0)
    if GVISOR:
        return os.waitstatus_to_exitcode(status) == 3
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS


def square(n):
    return n * n


def works():
    out = []
    thread = threading.Thread(target=lambda: out.append(1))
    thread.start()
    thread.join()
    check("threads", out == [1])
    check("subprocess", subprocess.run([sys.executable, "-c", "print(6*7)"], capture_output=True, text=True).stdout == "42\n")
    with multiprocessing.Pool(2) as pool:
        check("multiprocessing", pool.map(square, [1, 2, 3]) == [1, 4, 9])
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            server = socket.create_server((address, 0), family=family)
        except OSError as e:
            # no IPv6 on the loopback of some engines: the socket itself must open
            check(f"listen on {address}: {e}", family == socket.AF_INET6 and e.errno == errno.EADDRNOTAVAIL)
            continue
        with server, socket.create_connection(server.getsockname()[:2]) as client:
            peer, _ = server.accept()
            client.sendall(b"x")
            check(f"tcp on {address}", peer.recv(1) == b"x")
            peer.close()
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDP).close()
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP).close()
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    a, b = socket.socketpair()
    a.send(b"y")
    check("socketpair", b.recv(1) == b"y")
    check("getaddrinfo", socket.getaddrinfo("127.0.0.1", 80) != [])
    check("asyncio", asyncio.run(asyncio.sleep(0, "done")) == "done")
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    check("own limits", resource.prlimit(0, resource.RLIMIT_NOFILE) == (64, 64))
    with tempfile.NamedTemporaryFile() as f:
        os.link(f.name, f.name + ".2")
        os.mkfifo(f.name + ".fifo")
        script = f.name + ".sh"
        with open(script, "w") as s:
            s.write(f"#!{sys.executable}\nraise SystemExit(5)\n")
        os.chmod(script, 0o700)
        check("programs run from the workspace", subprocess.run([script]).returncode == 5)


def fails():
    for name, numbers in DENIED.items():
        number = numbers[0 if X86 else 1]
        if number is not None:
            got = call(number, -1, -1, -1, -1, -1, -1)
            check(f"{name} gives {errno.errorcode.get(got, got)}", got == errno.EPERM)
    check("clone3 exists", call(435, 0, 0) == errno.ENOSYS)
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        check(f"clone with {flag:#x}", call(CLONE, flag | signal.SIGCHLD, 0, 0, 0, 0) == errno.EPERM)
    prlimit = 302 if X86 else 261
    check("prlimit by pid", call(prlimit, 1, 7, 0, 0) == errno.EPERM)
    check("prlimit with high bits", call(prlimit, 1 << 32, 7, 0, 0) == errno.EPERM)
    check("personality", call(135 if X86 else 92, 0x0040000) == errno.EPERM)
    for family in (3, 4, 5, 15, 17, 21, 30, 38, 40, 44):
        check(f"socket family {family}", refused(family))
    check("socket family with high bits", call(41 if X86 else 198, (1 << 32) | 38, 5, 0) == errno.EPERM)
    for protocol in (1, 132, 136, 262):
        check(f"internet protocol {protocol}", refused(socket.AF_INET, socket.SOCK_STREAM, protocol))
    check("netlink beyond routes", refused(socket.AF_NETLINK, socket.SOCK_RAW, 12))
    if X86:
        check("32-bit calls", closed(20))


def confined():
    check("uid", os.getresuid() == (int(sys.argv[1]),) * 3)
    with open("/proc/self/status") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        check(f"{name} {status[name]}", int(status[name], 16) == 0)
    check("no_new_privs", status["NoNewPrivs"] == "1")
    check("hostname", socket.gethostname() == "skill")
    check("interfaces", [name for _, name in socket.if_nameindex() if name == "lo"] == ["lo"])
    for folder, writable in (("/workspace", True), ("/out", True), ("/run/hotcell", True), ("/masked", False), ("/tmp", False), ("/", False)):
        try:
            with open(os.path.join(folder, "probe"), "w") as f:
                f.write("x")
            check(f"{folder} is writable", writable)
        except OSError as e:
            check(f"{folder}: {e}", not writable and os.path.isdir(folder))


if __name__ == "__main__":
    confined()
    works()
    fails()
    print(json.dumps(bad))
