package kubernetes

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hotcell/hotcell/internal/seal"
	"github.com/hotcell/hotcell/internal/testutil"
)

// kubeconfigOf names a cluster's address in a file.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
"clusters": [{"name": "c", "cluster": {"server": %q}}], "users": [{"name": "u", "user": {}}]}`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// silent is the address of a server that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	var held []net.Conn
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			held = append(held, conn)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
		for _, conn := range held {
			_ = conn.Close()
		}
	})
	return "http://" + l.Addr().String()
}

// A server that takes the connection of an attempt and says nothing keeps nobody for longer than an attempt may take.
func TestAnAttemptIsBounded(t *testing.T) {
	d, err := New(Options{
		Kubeconfig: kubeconfigOf(t, silent(t)), RunnerImage: "runner", Timeouts: Timeouts{Attach: 300 * time.Millisecond, Request: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := newCell(d, &corev1.Pod{}, nil, &plan{})
	c.name, c.hello.Key = "pod", seal.NewKey()
	over := make(chan bool, 1)
	go func() { over <- c.knock(context.Background()) }()
	select {
	case reached := <-over:
		if reached {
			t.Error("somebody has answered")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the attempt lasts")
	}
	c.work.Wait()
}

// A watch to which a server does not even say that it has begun is asked for again.
func TestAWatchThatDoesNotBeginIsBounded(t *testing.T) {
	var watches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}`)
			return
		}
		watches.Add(1)
		<-r.Context().Done()
	}))
	defer server.Close()
	d, err := New(Options{Kubeconfig: kubeconfigOf(t, server.URL), RunnerImage: "runner", Timeouts: Timeouts{Request: 300 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.pods.follow("pod")
	testutil.Poll(t, 30*time.Second, func() bool { return watches.Load() >= 2 })
}
