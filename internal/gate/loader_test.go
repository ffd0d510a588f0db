package gate

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
)

// loaded starts the loader, and returns its stdin and stdout.
func loaded(t *testing.T, args ...string) (c *exec.Cmd, in io.WriteCloser, out io.Reader) {
	t.Helper()
	testutil.Require(t, "linux")
	testutil.Require(t, "amd64") // there is no loader for others
	path := filepath.Join(t.TempDir(), "loader")
	if err := os.WriteFile(path, Loader("amd64"), 0o700); err != nil {
		t.Fatal(err)
	}
	c = exec.Command(path, args...)
	c.Env = []string{"A=b"}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = c.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c, in, out
}

func length(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// The loader becomes the program that it is sent, with its own arguments, its own environment and what is left of its stdin.
func TestLoader(t *testing.T) {
	program, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	c, in, out := loaded(t, "-c", `read -r line; echo "$0 $1 $A $line"`, "zero", "one")
	for range 2 { // as often as it is asked
		if _, err := in.Write(length(0)); err != nil {
			t.Fatal(err)
		}
		said := make([]byte, len(LoaderSays)+1)
		if _, err := io.ReadFull(out, said); err != nil || string(said) != LoaderSays+"\n" {
			t.Fatalf("%q, %v", said, err)
		}
	}
	for _, part := range [][]byte{length(len(program)), program, []byte("rest\n")} {
		if _, err := in.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	said, err := io.ReadAll(out)
	if err != nil || string(said) != "zero one b rest\n" {
		t.Errorf("%q, %v", said, err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// What the loader has become cannot be changed, whoever gets hold of it: it belongs to the user whose programs it starts.
func TestLoaderSeals(t *testing.T) {
	program, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	c, in, out := loaded(t, "-c", "echo there; read -r line")
	for _, part := range [][]byte{length(len(program)), program} {
		if _, err := in.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.ReadFull(out, make([]byte, len("there\n"))); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/exe", c.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const getSeals, all = 1034, 15 // of fcntl(2)
	if seals, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), getSeals, 0); errno != 0 || seals&all != all {
		t.Errorf("its seals are %#x, want %#x: %v", seals, all, errno)
	}
}

// What is no program, or not all of it, is not executed.
func TestLoaderRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		sent []byte
		code int
	}{
		"nothing": {nil, exitHangup}, "half a length": {[]byte{1, 0}, exitHangup}, "half a program": {append(length(1000), "\x7fELF"...), exitHangup},
		"no program": {append(length(4), "none"...), exitRefused},
	} {
		c, in, out := loaded(t)
		_, _ = in.Write(tt.sent)
		_ = in.Close()
		if said, err := io.ReadAll(out); err != nil || len(said) > 0 {
			t.Errorf("%s: %q, %v", name, said, err)
		}
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}

// The loader is what its source says, and small.
func TestLoaderIsItsSource(t *testing.T) {
	f, err := elf.NewFile(bytes.NewReader(Loader("amd64")))
	if err != nil || len(Loader("amd64")) > 1000 || Loader("arm64") != nil {
		t.Fatalf("%d bytes: %v", len(Loader("amd64")), err)
	}
	for _, p := range f.Progs {
		if p.Flags&elf.PF_W != 0 && p.Flags&elf.PF_X != 0 {
			t.Errorf("segment %v can be written and executed", p.Type)
		}
	}
	testutil.Require(t, "amd64")
	testutil.Require(t, "assembler")
	object, code := filepath.Join(t.TempDir(), "loader.o"), filepath.Join(t.TempDir(), "loader.bin")
	for _, args := range [][]string{{"as", "-o", object, "loader.asm"}, {"objcopy", "-O", "binary", "-j", ".text", object, code}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	data, err := os.ReadFile(code)
	if err != nil || hex.EncodeToString(data) != loaderCode {
		t.Errorf("%v; loader.asm becomes\n%x\nand loaderCode is\n%s", err, data, loaderCode)
	}
}
