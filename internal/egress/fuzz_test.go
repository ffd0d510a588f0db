package egress

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/policies"
)

// Whatever a cell writes, only hosts on its list are resolved and only public addresses are dialled.
func FuzzServe(f *testing.F) {
	for _, target := range []string{
		"example.com:443", "EXAMPLE.com.:443", "a.example.org:443", "127.0.0.1:443", "[::1]:443", "example.com:443@evil.example:443",
		"2130706433:443", "évil.example:443", "example.com:80",
	} {
		f.Add([]byte(connect(target)))
		f.Add([]byte("POST http://" + target + "/x HTTP/1.1\r\nHost: h\r\n" + authorization(token) + "Content-Length: 3\r\n\r\nabc"))
		f.Add([]byte("POST http://" + target + "/x HTTP/1.1\r\nHost: h\r\n" + authorization(token) + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w := &world{t: t}
		w.connect = nil
		allow, err := policies.ParseHostPatterns([]string{"example.com:443", "example.com:80", "*.example.org:443"})
		if err != nil {
			t.Fatal(err)
		}
		g := newGrant(Options{Resolver: w, Dial: w.dial, Log: audit.Nobody, Own: interfaces, Limits: Limits{Header: 4096}.filled()}, "c1", allow)
		g.Activate(t.Context(), token)
		defer g.Revoke()
		ours, theirs := net.Pipe()
		_ = ours.SetDeadline(time.Now().Add(10 * time.Second))
		go func() {
			_, _ = io.Copy(ours, bytes.NewReader(text))
			_, _ = ours.Write(bytes.Repeat([]byte("\r\n"), 4096)) // whatever it was, now it ends
		}()
		done := make(chan struct{})
		go func() { defer close(done); g.Serve(Port, theirs) }()
		said, _ := io.ReadAll(ours)
		_ = ours.Close()
		<-done
		if len(said) > 0 && !bytes.HasPrefix(said, []byte("HTTP/1.1 ")) {
			t.Errorf("the answer is %.80q", said)
		}
		for _, name := range w.looked {
			if h, err := policies.ParseNetHost(name); err != nil || !g.allows(h, 443) {
				t.Errorf("looked up %q", name)
			}
		}
		for _, address := range w.dialed {
			if address != public+":443" && address != public+":80" {
				t.Errorf("dialled %q", address)
			}
		}
	})
}
