package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
)

// listening serves the grant on a port of this machine, as the runner does in a cell, and returns the environment that a
// skill would have.
func listening(t *testing.T, g *grant) []string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { g.Serve(Port, conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); g.Revoke(); served.Wait() })
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	return append(env, g.Env(func(string) string { return l.Addr().String() }, token)...)
}

func run(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// Python's own client finds the proxy and the token in the environment, leaves loopback alone, and shows why it was refused.
func TestPythonClient(t *testing.T) {
	testutil.Require(t, "python3")
	w := &world{t: t}
	direct := w.upstream(true, func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "hello from ", r.Host) })
	g := w.grant("example.com:443")
	said := run(t, listening(t, g), "python3", "-c", `
import ssl, sys, urllib.error, urllib.request
context = ssl._create_unverified_context()
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, context=context, timeout=30).read().decode())
    except urllib.error.URLError as e:
        print(e)
`, "https://example.com/", "https://evil.example/", "http://example.com/", direct.URL)
	want := []string{
		"hello from example.com", "<urlopen error Tunnel connection failed: 403 hotcell egress: evil.example:443 is not in network.allow>",
		"HTTP Error 403: hotcell egress: example.com:80 is not in network.allow", "hello from " + strings.TrimPrefix(direct.URL, "https://"),
	}
	if got := strings.Split(strings.TrimSpace(said), "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", said, strings.Join(want, "\n"))
	}
	if len(w.dials()) != 1 {
		t.Errorf("dialled %q", w.dials())
	}
}

// Go's client shows the reason as well.
func TestGoClientShowsTheReason(t *testing.T) {
	w := &world{t: t}
	_, err := client(t, w.grant("example.com:443"), nil).Get("https://evil.example/")
	if err == nil || !strings.Contains(err.Error(), "evil.example:443 is not in network.allow") {
		t.Error(err)
	}
}
