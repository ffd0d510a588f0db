package rest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// dripped sends a request's body a piece at a time and returns the answer.
func dripped(t *testing.T, h http.Handler, head string, pieces int, every time.Duration) (status int, text string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ln, ended := &pipes{make(chan net.Conn), make(chan struct{})}, make(chan error, 1)
	go func() { ended <- Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
	ours, theirs := net.Pipe()
	ln.conns <- theirs
	var group sync.WaitGroup
	group.Go(func() {
		_, _ = fmt.Fprintf(ours, "%s\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", head, 3*pieces)
		for range pieces {
			if _, err := io.WriteString(ours, "zip"); err != nil {
				return
			}
			time.Sleep(every)
		}
	})
	resp, err := http.ReadResponse(bufio.NewReader(ours), nil)
	if err == nil {
		var b []byte
		b, err = io.ReadAll(resp.Body)
		status, text = resp.StatusCode, string(b)
	}
	if err != nil {
		t.Error(err)
	}
	_ = ours.Close()
	stop()
	<-ended
	group.Wait()
	return status, text
}

// A large upload may take its time, and no other body; one that never ends is cut off.
func TestSlowBodies(t *testing.T) {
	for name, tt := range map[string]struct {
		head   string
		pieces int
		want   string
	}{
		"an upload":            {"PUT /v1/skills/x HTTP/1.1\r\nContent-Type: application/zip", 100, `200 {"data":{"skill":{"name":"x"`},
		"an upload that stays": {"PUT /v1/skills/x HTTP/1.1\r\nContent-Type: application/zip", 200, `408 {"error":{"code":"INCOMPLETE"`},
		"a call":               {"POST /v1/calls HTTP/1.1\r\nContent-Type: application/json", 20, "400 "},
		"a call that stays":    {"POST /v1/calls HTTP/1.1\r\nContent-Type: application/json", 40, `408 {"error":{"code":"incomplete"`},
		"a draft":              {"POST /api/v1/custom-skills HTTP/1.1\r\nContent-Type: application/json", 6, `408 {"error":{"code":"INCOMPLETE"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := New(stocked(newShop(), Options{Handler: answering{}}))
				status, text := dripped(t, h, tt.head, tt.pieces, time.Second)
				if got := fmt.Sprint(status, " ", text); !strings.HasPrefix(got, tt.want) {
					t.Errorf("got %s", got)
				}
			})
		})
	}
}
