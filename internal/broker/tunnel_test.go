package broker

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hotcell/hotcell/internal/llm"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies"
)

// throughTunnel speaks HTTP with a grant as a cell really does: over lines of the wall.
func throughTunnel(t *testing.T, g *grant) *http.Client {
	t.Helper()
	upR, upW := io.Pipe()
	downR, downW := io.Pipe()
	cell := wall.NewTunnel(wall.NewWriter(upW), wall.TunnelOptions{Dials: true})
	host := wall.NewTunnel(wall.NewWriter(downW), wall.TunnelOptions{Ports: g.Ports()})
	var all sync.WaitGroup
	for from, to := range map[io.Reader]*wall.Tunnel{upR: host, downR: cell} {
		all.Go(func() {
			for lines := wall.NewReader(from, wall.MaxLine, wall.MaxLine); ; {
				l, err := lines.Next()
				if err != nil || to.Handle(wall.TypeOf(l.Bytes), l.Bytes) != nil {
					return
				}
			}
		})
	}
	all.Go(func() {
		for {
			conn, port, err := host.Accept()
			if err != nil {
				return
			}
			all.Go(func() { g.Serve(port, conn) })
		}
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return cell.Dial(ctx, g.Ports()[0]) }}
	t.Cleanup(func() {
		g.Revoke()
		transport.CloseIdleConnections()
		for _, end := range []*wall.Tunnel{cell, host} {
			end.Close(nil)
		}
		upW.Close()
		downW.Close()
		cell.Wait()
		host.Wait()
		all.Wait()
	})
	return &http.Client{Transport: transport}
}

func TestThroughTheTunnel(t *testing.T) {
	const piece = 64 << 10
	r := newRig(t, llm.OpenAI, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 16 {
			events("data: "+strings.Repeat("x", piece)+"\n\n")(w, q)
		}
	})
	r.provider.Limits = llm.Limits{Concurrency: 8, Tokens: llm.MaxTokens}
	g, _ := r.grant(askFor(policies.LLM{}))
	c := throughTunnel(t, g.(*grant))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2 {
				got, err := send(c, post(t, "/v1/chat/completions", `{"model":"small","max_tokens":1,"stream":true,"a":"`+strings.Repeat("a", 300_000)+`"}`))
				if err != nil || got.status != http.StatusOK || len(got.body) != 16*(piece+8) {
					t.Errorf("%d with %d bytes, %v", got.status, len(got.body), err)
				}
			}
		})
	}
	all.Wait()
}
