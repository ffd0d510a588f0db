package runner

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/wall"
)

// BenchmarkPorts moves bytes between an HTTP client in the cell and a server behind the tunnel.
func BenchmarkPorts(b *testing.B) {
	const size = 16 << 20
	c, url, _ := withPorts(b)
	c.begin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			_, _ = w.Write(make([]byte, size))
		}
	}))
	cl := client(b)
	b.Run("down", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			r, err := cl.Get(url)
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r.Body); n != size || err != nil {
				b.Fatal(n, err)
			}
			r.Body.Close()
		}
	})
	b.Run("up", func(b *testing.B) {
		b.SetBytes(size)
		text := strings.Repeat("x", size)
		for b.Loop() {
			if code, _ := fetch(b, url, strings.NewReader(text)); code != 200 {
				b.Fatal(code)
			}
		}
	})
	b.Run("firstbyte", func(b *testing.B) {
		for b.Loop() {
			if code, _ := fetch(b, url, nil); code != 200 {
				b.Fatal(code)
			}
		}
	})
	c.send(wall.Control{Type: wall.TypeCancel}, wall.Control{Type: wall.TypeDone})
	c.exits(exitComplete)
}
