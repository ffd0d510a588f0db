package runner

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// BenchmarkAhead is the time from a request to the first event of a process that was started ahead, with a runner in between and
// without one, each after a pause in which all sleeps.
func BenchmarkAhead(b *testing.B) {
	skill := []string{"sh", "-c", `read -r line; echo '{"type":"skill/event","kind":"status","data":{"message":"here"}}'; read -r line`}
	b.Run("bare", func(b *testing.B) {
		benchmarkAhead(b, func() *exec.Cmd { return exec.Command(skill[0], skill[1:]...) }, false)
	})
	b.Run("runner", func(b *testing.B) {
		benchmarkAhead(b, func() *exec.Cmd {
			root := b.TempDir()
			for _, dir := range []string{wall.DirWorkspace, wall.DirOut, wall.DirRun} {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
					b.Fatal(err)
				}
			}
			cmd := exec.Command(os.Args[0], skill...)
			cmd.Env = append(os.Environ(), envBe+"="+root, envPrestart+"=1")
			return cmd
		}, true)
	})
}

func benchmarkAhead(b *testing.B, command func() *exec.Cmd, announces bool) {
	var took []time.Duration
	for b.Loop() {
		cmd := command()
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if announces {
			_, _ = lines.ReadString('\n')
		}
		time.Sleep(100 * time.Millisecond) // it rests
		began := time.Now()
		fmt.Fprintln(in, `{"type":"skill/call/req","name":"x","arguments":{"text":"what runs here"}}`)
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "here") {
			b.Fatalf("%q, %v", line, err)
		}
		took = append(took, time.Since(began))
		_ = in.Close()
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait() // a runner that was hung up on says so
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[0].Microseconds()), "µs/least")
	b.ReportMetric(float64(took[len(took)/4].Microseconds()), "µs/p25")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/p50")
}
