package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func fileCommands() []command {
	return []command{
		{"files-links", func([]string) { filesLinks() }},
		{"files-special", func([]string) { filesSpecial() }},
		{"files-sparse", func(args []string) { filesSparse(args) }},
		{"files-names", func([]string) { filesNames() }},
		{"files-deep", func(args []string) { filesDeep(number(args[0])) }},
		{"files-many", func(args []string) { filesMany(number(args[0])) }},
		{"files-sealed", func([]string) { filesSealed() }},
		{"files-size", func(args []string) { filesSize(number(args[0])) }},
		{"files-moving", func([]string) { filesMoving() }},
		{"files-mover", func([]string) { filesMover() }},
		{"files-swapped", func([]string) { filesSwapped() }},
	}
}

func out(name string) string { return filepath.Join(os.Getenv("HOTCELL_OUT"), name) }

func write(name, text string) { must(os.WriteFile(out(name), []byte(text), 0o644)) }

// filesLinks leaves links that lead out, nowhere, in a circle, and to a folder.
func filesLinks() {
	write("plain.txt", "plain")
	for name, target := range map[string]string{
		"passwd": "/etc/passwd", "environ": "/proc/1/environ", "mem": "/proc/1/mem", "request": os.Getenv("HOTCELL_REQUEST"),
		"dangling": "/nowhere", "self": "self", "loop-a": "loop-b", "loop-b": "loop-a", "up": "../../..", "dir": "/etc", "stdout": "/proc/1/fd/1",
	} {
		must(os.Symlink(target, out(name)))
	}
	must(os.Link(out("plain.txt"), out("hard.txt")))
	report := newReport()
	report.refused("a hard link to a file of the image", unix.Linkat(unix.AT_FDCWD, "/etc/passwd", unix.AT_FDCWD, out("hard-passwd"), 0))
	report.send()
}

// filesSpecial leaves what a reader can hang on.
func filesSpecial() {
	write("plain.txt", "plain")
	report := newReport()
	report.refused("character device", unix.Mknod(out("null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	report.refused("block device", unix.Mknod(out("disk"), unix.S_IFBLK|0o666, int(unix.Mkdev(8, 0))))
	report.works("fifo", unix.Mkfifo(out("fifo"), 0o666))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(err)
	report.works("socket", unix.Bind(fd, &unix.SockaddrUnix{Name: out("socket")}))
	report.send()
}

// filesSparse makes a file of a terabyte that has no bytes, and gives a result where that is asked for.
func filesSparse(args []string) {
	write("plain.txt", "plain")
	must(os.WriteFile(out("sparse"), nil, 0o644))
	must(os.Truncate(out("sparse"), 1<<40))
	if len(args) > 0 {
		result("sparse")
	}
}

// filesNames makes files with every name that a file system takes.
func filesNames() {
	for _, name := range []string{
		"good.txt", "..two-dots", "...", "-rf", "~", "a b", `back\slash`, "C:", "con", "semi;colon$(id)", "é", "e\u0301", "\u202etxt.exe",
		"new\nline", "carriage\rreturn", "tab\t", "bell\a", "escape\x1b[2J", "invalid\xff\xfe", "\x7f", strings.Repeat("l", 255),
	} {
		write(name, name)
	}
	report := newReport()
	report.refused("a name of 4 KiB", os.WriteFile(out(strings.Repeat("k", 4096)), nil, 0o644))
	report.refused("a name with a NUL", os.WriteFile(out("a\x00b"), nil, 0o644))
	report.send()
}

// filesDeep makes folders in folders, with a file at the bottom.
func filesDeep(levels int) {
	write("plain.txt", "plain")
	must(os.Chdir(os.Getenv("HOTCELL_OUT")))
	for range levels {
		must(os.Mkdir("d", 0o755))
		must(os.Chdir("d"))
	}
	must(os.WriteFile("bottom", []byte("bottom"), 0o644))
	result("deep")
}

// filesMany makes many files, or as many as there can be.
func filesMany(n int) {
	made := 0
	for i := range n {
		if os.WriteFile(out(fmt.Sprintf("%06d", i)), []byte("x"), 0o644) != nil {
			break
		}
		made++
	}
	result(made)
}

// filesSealed leaves what its own owner may not read.
func filesSealed() {
	write("plain.txt", "plain")
	write("sealed", "secret")
	must(os.Chmod(out("sealed"), 0))
	must(os.Mkdir(out("vault"), 0o755))
	write("vault/inside", "x")
	must(os.Chmod(out("vault"), 0))
	result("sealed")
}

// filesSize makes one file of so many bytes, most of which are a hole: /out itself has no more room.
func filesSize(n int) {
	write("file", "x")
	must(os.Truncate(out("file"), int64(n)))
	fmt.Println(n)
}

// filesMoving leaves a process behind that changes its files while they are collected.
func filesMoving() {
	write("steady.txt", "steady")
	cmd := exec.Command(self(), "files-mover")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(cmd.Start())
	for {
		if _, err := os.Stat(out("moving")); err == nil {
			break
		}
	}
	result("moving")
}

func filesMover() {
	signal.Ignore(unix.SIGTERM, unix.SIGHUP)
	for {
		_ = os.WriteFile(out("next"), []byte(strings.Repeat("y", 100_000)), 0o644)
		_ = os.Rename(out("next"), out("moving"))
		_ = os.Truncate(out("moving"), 1)
		_ = os.Remove(out("moving"))
		_ = os.Symlink("/etc/passwd", out("moving"))
		_ = os.Rename(out("moving"), out("moved"))
		_ = os.Mkdir(out("moving"), 0o755)
		_ = os.Remove(out("moving"))
		_ = os.WriteFile(out("moving"), []byte("z"), 0o644)
	}
}

// filesSwapped puts a link in the place of the folder itself.
func filesSwapped() {
	report := newReport()
	dir := os.Getenv("HOTCELL_OUT")
	report.refused("rename /out", os.Rename(dir, dir+"-away"))
	report.refused("remove /out", os.RemoveAll(dir))
	report.refused("a link in place of /out", os.Symlink("/etc", dir))
	report.send()
}
