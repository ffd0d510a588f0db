package cgroup

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// envPlay makes the test binary a process of a cell: see play.
const envPlay = "HOTCELL_CGROUP_PLAY"

func TestMain(m *testing.M) {
	if what := os.Getenv(envPlay); what != "" {
		play(what)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// play waits until it is in its group, then does what it is told.
func play(what string) {
	fmt.Println("up")
	_, _ = io.ReadFull(os.Stdin, make([]byte, 1))
	mib, _ := strconv.Atoi(os.Getenv(envPlay + "_MIB"))
	switch what {
	case "eat": // a MiB at a time, for ever or up to a size
		var kept [][]byte
		for i := 0; mib == 0 || i < mib; i++ {
			b := make([]byte, 1<<20)
			for at := 0; at < len(b); at += 4096 {
				b[at] = 1
			}
			kept = append(kept, b)
		}
		fmt.Println("ate")
		_, _ = io.ReadFull(os.Stdin, make([]byte, 1))
		_ = kept[len(kept)-1][0]
	case "exit":
	case "sleep":
		time.Sleep(time.Minute)
	}
}
