package wall

import (
	"io"
	"slices"
	"testing"
	"time"
)

// BenchmarkTunnel moves bytes through both ends and two pipes, and measures the way of one byte and back.
func BenchmarkTunnel(b *testing.B) {
	for name, streams := range map[string]int{"one": 1, "hundred": 100} {
		b.Run("up/"+name, func(b *testing.B) { benchmarkBytes(b, streams) })
	}
	b.Run("firstbyte", benchmarkFirstByte)
}

func benchmarkBytes(b *testing.B, streams int) {
	p := join(b, "egress")
	serve(b, p.host, func(_ string, c *Conn) { _, _ = io.Copy(io.Discard, c) })
	const piece = 1 << 18
	data := make([]byte, piece)
	b.SetBytes(piece)
	b.ReportAllocs()
	next := make(chan struct{})
	done := make(chan error, streams)
	for range streams {
		c := dial(b, p, "egress")
		go func() {
			var err error
			for range next {
				if _, err = c.Write(data); err != nil {
					break
				}
			}
			_ = c.CloseWrite()
			_, _ = c.Read(make([]byte, 1)) // until the other end has it all
			_ = c.Close()
			done <- err
		}()
	}
	for b.Loop() {
		next <- struct{}{}
	}
	close(next)
	for range streams {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkFirstByte(b *testing.B) {
	p := join(b, "egress")
	serve(b, p.host, echo)
	var took []time.Duration
	one := []byte{1}
	for b.Loop() {
		start := time.Now()
		c := dial(b, p, "egress")
		if _, err := c.Write(one); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, one); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
		_ = c.Close()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
