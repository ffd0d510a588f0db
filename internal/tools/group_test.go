package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a server's program started ends with it, whether it ever answered or not.
func TestNothingIsLeftOfAServer(t *testing.T) {
	for name, end := range map[string]string{"answers": `exec "$0"`, "quits": "exit 1"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			srv := program(t)
			srv.Command = []string{"/bin/sh", "-c", fmt.Sprintf("sleep 1000 > /dev/null & echo $! > %s; %s", file, end), srv.Command[0]}
			b := newBench(t, Options{}, map[string]Server{"srv": srv}, "a", useMCP)
			g, err := b.tools.Grant(b.ask("a"))
			if (err == nil) != (name == "answers") {
				t.Fatalf("got %v", err)
			}
			if g != nil {
				g.Revoke()
			}
			b.box.Close()
			pid, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(10 * time.Second); alive(strings.TrimSpace(string(pid))); yield() {
				if time.Now().After(deadline) {
					t.Fatalf("process %s is left", pid)
				}
			}
		})
	}
}

// alive reports whether a process runs; one that nobody has waited for doesn't.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
