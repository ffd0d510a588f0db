package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/hotcell/hotcell/internal/vault"
)

const keptSecret = "sk-live-0123456789abcdef"

func TestSecretsAreSetListedAndRemoved(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	dir := t.TempDir()
	for _, name := range []string{"openai", "claude"} {
		b.app.stdin = strings.NewReader(keptSecret + "\n")
		if code := b.run("secrets", "set", name, "--data-dir", dir); code != exitOK {
			t.Fatalf("exit %d: %s", code, b.err.String())
		}
	}
	if got, err := vault.At(filepath.Join(dir, "secrets")).Get("openai"); err != nil || string(got) != keptSecret {
		t.Errorf("got %q, %v", got, err)
	}
	if code := b.run("secrets", "remove", "openai", "--data-dir", dir); code != exitOK {
		t.Errorf("exit %d: %s", code, b.err.String())
	}
	if code := b.run("secrets", "list", "--data-dir", dir); code != exitOK || b.out.String() != "claude\n" {
		t.Errorf("exit %d: %q", code, b.out.String())
	}
	if strings.Contains(b.out.String()+b.err.String(), keptSecret) {
		t.Error("the secret was printed")
	}
	if code := b.run("audit", "list", "--data-dir", dir); code != exitOK || strings.Count(b.out.String(), `secret.set     {"secret":`) != 2 ||
		!strings.Contains(b.out.String(), `secret.remove  {"secret":"openai"}`) || strings.Contains(b.out.String(), keptSecret) {
		t.Errorf("exit %d: %s", code, b.out.String())
	}
}

func TestSecretsThatCannotBeKept(t *testing.T) {
	for name, tt := range map[string]struct {
		args  []string
		stdin string
		want  string
	}{
		"bad name": {[]string{"set", "../x"}, keptSecret, "expected a name of at most 64"},
		"a value":  {[]string{"set", "x", keptSecret}, "", "expected NAME, got 2 arguments"},
		"nothing":  {[]string{"set", "x"}, "\n", "nothing was read"},
		"long":     {[]string{"set", "x"}, strings.Repeat("a", 70_000), "the value is longer than 65536 bytes"},
		"unknown":  {[]string{"remove", "x"}, "", "there is no secret x"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, succeed(nil, ""))
			b.app.stdin = strings.NewReader(tt.stdin)
			code := b.run(append([]string{"secrets", "--data-dir", t.TempDir()}, tt.args...)...)
			if code == exitOK || !strings.Contains(b.err.String(), tt.want) || strings.Contains(b.err.String(), keptSecret) {
				t.Errorf("exit %d: %s", code, b.err.String())
			}
		})
	}
}

// What is typed at a terminal is not shown there.
func TestASecretIsTypedUnseen(t *testing.T) {
	b := newBench(t, succeed(nil, ""))
	master, slave := openPTY(t)
	b.app.stdin, b.app.stderr = slave, slave
	dir, screen := t.TempDir(), make(chan string)
	go func() {
		data, _ := io.ReadAll(master) // ends with EIO when the other end is closed
		screen <- string(data)
	}()
	go func() {
		for echoes(master) {
			time.Sleep(time.Millisecond)
		}
		_, _ = io.WriteString(master, keptSecret+"\n")
	}()
	code := b.run("secrets", "set", "x", "--data-dir", dir)
	_ = slave.Close()
	got := <-screen
	_ = master.Close()
	if value, err := vault.At(filepath.Join(dir, "secrets")).Get("x"); code != exitOK || err != nil || string(value) != keptSecret {
		t.Errorf("exit %d, %q, %v: %s", code, value, err, got)
	}
	if strings.Contains(got, keptSecret) {
		t.Errorf("the terminal showed %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "secrets", "x.age")); err != nil {
		t.Error(err)
	}
}

// echoes reports whether a terminal shows what is typed.
func echoes(f *os.File) bool {
	var settings syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&settings)))
	return errno == 0 && settings.Lflag&syscall.ECHO != 0
}
