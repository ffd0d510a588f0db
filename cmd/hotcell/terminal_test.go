package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/hotcell/hotcell/internal/a2e"
)

// openPTY returns the two ends of a pseudo-terminal that is 80 columns wide.
func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	var unlock, number int32
	size := [4]uint16{24, 80}
	ioctl(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	ioctl(t, master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		_ = master.Close()
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	return master, slave
}

func ioctl(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		t.Fatalf("ioctl %#x: %v", request, errno)
	}
}

// onTerminal runs a call whose stderr is a terminal and returns what the terminal got.
func onTerminal(t *testing.T, env map[string]string) string {
	t.Helper()
	b := newBench(t, succeed(nil, "fine",
		event(a2e.KindProgress, "pct", 0, "message", "starting"),
		event(a2e.KindProgress, "pct", 40, "message", strings.Repeat("long ", 100)),
		event(a2e.KindLog, "level", "error", "message", "odd \x1b[2Jthing"),
		event(a2e.KindProgress, "pct", 100, "message", "nearly"),
		event(a2e.KindProgress, "pct", 29, "message", "back again"),
	))
	for k, v := range env {
		b.env[k] = v
	}
	master, slave := openPTY(t)
	b.app.stderr = slave
	got := make(chan string)
	go func() {
		data, _ := io.ReadAll(master) // ends with EIO when the other end is closed
		got <- string(data)
	}()
	if code := b.run("run", "probe"); code != 0 {
		t.Errorf("exit %d", code)
	}
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	text := <-got
	_ = master.Close()
	if strings.Contains(b.out.String(), "\x1b") {
		t.Errorf("stdout is no terminal and got %q", b.out.String())
	}
	return text
}

func TestTerminal(t *testing.T) {
	got := onTerminal(t, map[string]string{"TERM": "xterm"})
	for _, want := range []string{"0%", "40%", "100%", " 29%", "back again", "━", "odd thing", "\x1b[31m"} {
		if !strings.Contains(got, want) {
			t.Errorf("the terminal did not get %q: %q", want, got)
		}
	}
	if strings.Contains(got, "[2Jthing") {
		t.Errorf("the skill cleared the screen: %q", got)
	}
	if !strings.HasSuffix(got, "\r\x1b[2K") {
		t.Errorf("the bar is left over: %q", got)
	}
	for line := range strings.SplitSeq(got, "\r") {
		if n := len([]rune(escapes.ReplaceAllString(line, ""))); n > 80 {
			t.Errorf("a line of %d columns wraps: %q", n, line)
		}
	}
}

func TestPlainTerminals(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"NO_COLOR": {"TERM": "xterm", "NO_COLOR": "1"},
		"dumb":     {"TERM": "dumb"},
		"no TERM":  {},
	} {
		t.Run(name, func(t *testing.T) {
			got := onTerminal(t, env)
			if strings.Contains(got, "\x1b") || strings.Contains(strings.ReplaceAll(got, "\r\n", ""), "\r") {
				t.Errorf("the terminal got control characters: %q", got)
			}
			if !strings.Contains(got, "40%") || !strings.Contains(got, "odd thing") {
				t.Errorf("the terminal got %q", got)
			}
		})
	}
}
