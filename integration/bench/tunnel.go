package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/wall"
)

// The rows of the tunnel.
const (
	tunnelFirst = "a connection out of a waiting cell of docker: first byte"
	tunnelDown  = "into a cell of docker"
	tunnelUp    = "out of a cell of docker"
	localFirst  = "a connection on this machine's loopback: first byte"
	localDown   = "over this machine's loopback"
)

// tunnelBytes are sent each way in one call.
const tunnelBytes = 32 << 20

// reaching is a skill that connects to the port it was granted, again and again, and tells what it saw. The other end sends
// one byte for "f", takes all that follows "u", and sends what was asked for after "d".
const reaching = `import json, os, socket, sys, time
sys.stdin.readline()
host, port = os.environ["BENCH_ADDR"].split(":")
size = int(os.environ["BENCH_BYTES"])

def connect():
    s = socket.create_connection((host, int(port)))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s

first = []
for _ in range(20):
    began = time.perf_counter()
    with connect() as s:
        s.sendall(b"f")
        s.recv(1)
        first.append((time.perf_counter() - began) * 1000)
chunk = bytearray(1 << 18)
with connect() as s:
    began = time.perf_counter()
    s.sendall(b"d")
    left = size
    while left > 0:
        n = s.recv_into(chunk)
        if n == 0:
            raise EOFError("%d bytes are missing" % left)
        left -= n
    down = size / 1e6 / (time.perf_counter() - began)
with connect() as s:
    began = time.perf_counter()
    s.sendall(b"u")
    for _ in range(size // len(chunk)):
        s.sendall(chunk)
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    up = size / 1e6 / (time.perf_counter() - began)
print(json.dumps({"type": "skill/event", "kind": "status", "data": {"message": "here"}}))
print(json.dumps({"type": "skill/result", "success": True, "data": {"first": first, "down": down, "up": up}}))
`

// reached is what the skill saw.
type reached struct {
	First    []float64 `json:"first"` // milliseconds
	Down, Up float64   // MB/s
}

// tunnelSection measures connections out of a cell, in turn with the same program on this machine's loopback.
func tunnelSection(ctx context.Context, b *bench) error {
	if !b.wants("tunnel", tunnelFirst) && !b.wants("tunnel", tunnelDown) && !b.wants("tunnel", tunnelUp) {
		return nil
	}
	var cell, local reached
	add := func(all *reached, one reached) {
		all.First = append(all.First, one.First[min(1, len(one.First)-1):]...) // the first one loads modules
		all.Down, all.Up = all.Down+one.Down, all.Up+one.Up
	}
	downs, ups, locals := []float64{}, []float64{}, []float64{}
	for round := range b.rounds/8 + 1 {
		b.say("tunnel, round %d of %d", round+1, b.rounds/8+1)
		one, err := b.reach(ctx)
		if err != nil {
			b.out("tunnel", tunnelFirst, round, err)
			return ctx.Err()
		}
		add(&cell, one)
		downs, ups = append(downs, one.Down), append(ups, one.Up)
		if one, err = reachLocally(ctx); err != nil {
			b.out("tunnel", localFirst, round, err)
			continue
		}
		add(&local, one)
		locals = append(locals, one.Down)
	}
	b.report.add("tunnel", tunnelFirst, unitMS, cell.First...)
	if len(locals) > 0 {
		b.report.add("tunnel", localFirst, unitMS, local.First...)
	}
	b.report.add("tunnel", tunnelDown, unitRate, downs...)
	b.report.add("tunnel", tunnelUp, unitRate, ups...)
	if len(locals) > 0 {
		b.report.add("tunnel", localDown, unitRate, locals...)
	}
	return nil
}

// reach makes one call whose cell waits.
func (b *bench) reach(ctx context.Context) (reached, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := b.yard.site(onDocker, true)
	if err == nil {
		err = s.stocked(ctx, tunnelSkill)
	}
	if err != nil {
		return reached{}, err
	}
	answer := s.Call(ctx, a2e.Caller{Door: "bench"}, &a2e.CallRequest{Name: names[tunnelSkill]}, nil)
	if answer.Error != nil {
		return reached{}, answer.Error
	}
	text, err := json.Marshal(answer.Data.Data)
	if err != nil {
		return reached{}, err
	}
	var saw reached
	return saw, json.Unmarshal(text, &saw)
}

// far is the other end of the skill's connections: a service that grants its port to this one skill.
type far struct{}

// Grant implements [service.Service].
func (far) Grant(ask service.Ask) (service.Grant, error) {
	if ask.Skill.Name != names[tunnelSkill] {
		return nil, nil
	}
	return farGrant{}, nil
}

type farGrant struct{}

func (farGrant) Ports() []string { return []string{"bench"} }

func (farGrant) Env(at func(string) string, _ string) []string {
	return []string{"BENCH_ADDR=" + at("bench"), fmt.Sprintf("BENCH_BYTES=%d", tunnelBytes)}
}

func (farGrant) Lease(*wall.Lease)                { /* nothing more is handed in */ }
func (farGrant) Activate(context.Context, string) { /* the tunnel itself asks whether the call runs */ }
func (farGrant) Revoke()                          { /* the tunnel ends with the call */ }

func (farGrant) Serve(_ string, conn net.Conn) { answerOne(conn) }

// answerOne serves one connection.
func answerOne(conn net.Conn) {
	defer conn.Close()
	var word [1]byte
	if _, err := io.ReadFull(conn, word[:]); err != nil {
		return
	}
	switch word[0] {
	case 'f':
		_, _ = conn.Write(word[:])
	case 'd':
		chunk := make([]byte, 1<<18)
		for range tunnelBytes / len(chunk) {
			if _, err := conn.Write(chunk); err != nil {
				return
			}
		}
	case 'u':
		_, _ = io.Copy(io.Discard, conn)
		_, _ = conn.Write(word[:])
	}
}
