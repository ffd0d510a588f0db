package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// reachLocally runs the skill's program on this machine, against a listener on loopback.
func reachLocally(ctx context.Context) (saw reached, err error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return saw, absent{"no python3 is installed"}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return saw, err
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer ln.Close()
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { answerOne(conn) })
		}
	})
	cmd := exec.CommandContext(ctx, python, "-c", reaching)
	cmd.Stdin = strings.NewReader("{}\n")
	cmd.Env = append(os.Environ(), "BENCH_ADDR="+ln.Addr().String(), fmt.Sprintf("BENCH_BYTES=%d", tunnelBytes))
	out, err := cmd.Output()
	if err != nil {
		return saw, err
	}
	_, last, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	result := struct{ Data *reached }{&saw}
	return saw, json.Unmarshal(last, &result)
}
